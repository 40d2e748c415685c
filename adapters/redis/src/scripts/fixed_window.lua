-- Fixed windows: see core/src/quota/fixed_window.rs.
local fixed = {}
kinds[1] = fixed

function fixed.at(limit, high, low)
    local ring = 2 ^ (36 - limit.bits)
    return { ring = ring, tick = (shifted(high, low, limit.shift, 36 - limit.bits) + 1) % ring }
end

function fixed.fresh(limit, at) return at.tick * 2 ^ limit.bits end

-- The parts of a state as they count now: start, count, ticks until the window ends.
local function window(limit, at, state)
    local counts = 2 ^ limit.bits
    local start, count = floor(state / counts), state % counts
    local age = after(start, at.tick, at.ring)
    if age then
        if age >= limit.span then return at.tick, 0, limit.span end
        return start, count, limit.span - age
    end
    local lead = (start - at.tick) % at.ring
    if lead > limit.kept then return at.tick, count, limit.span end
    return start, count, limit.span + lead
end

function fixed.remaining(limit, at, state)
    local _, count = window(limit, at, state)
    return limit.limit - count
end

function fixed.charged(limit, at, state, cost)
    local start, count, ends = window(limit, at, state)
    return start * 2 ^ limit.bits + count + cost, ends
end

-- What a refusal writes: a state that lay ahead of the clock, brought to now.
function fixed.settled(limit, at, state)
    local counts = 2 ^ limit.bits
    local start = floor(state / counts)
    local lead = (start - at.tick) % at.ring
    if not after(start, at.tick, at.ring) and lead > limit.kept then
        return at.tick * counts + state % counts, limit.span
    end
    return state
end
