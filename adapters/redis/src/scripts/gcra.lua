-- GCRA: see core/src/quota/gcra.rs.
local gcra = {}
kinds[3] = gcra

function gcra.at(limit, high, low)
    return { ring = 2 ^ 36, tick = (shifted(high, low, limit.shift, 36) + 1) % 2 ^ 36 }
end

function gcra.fresh(_, at) return at.tick end

local function lead(at, state) return after(at.tick, state, at.ring) or 0 end

function gcra.settled(limit, at, state)
    local full = limit.limit * limit.span
    if lead(at, state) > limit.bits + limit.kept then return (at.tick + full) % at.ring, full end
    return state
end

local function debt(limit, at, state) return lead(at, (gcra.settled(limit, at, state))) end

function gcra.remaining(limit, at, state)
    return floor(math.max(limit.bits - debt(limit, at, state), 0) / limit.span)
end

function gcra.charged(limit, at, state, cost)
    local charged = debt(limit, at, state) + cost * limit.span
    return (at.tick + charged) % at.ring, charged
end
