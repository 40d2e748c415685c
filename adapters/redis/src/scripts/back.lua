-- What gives charges back, of each kind.
function fixed.refunded(limit, at, state, charged, cost)
    local counts = 2 ^ limit.bits
    local start = floor(state / counts)
    if start ~= floor(charged / counts) then return nil end
    local age = after(start, at.tick, at.ring)
    if age and age >= limit.span then return nil end
    return start * counts + math.max(state % counts - cost, 0)
end

function fixed.cleared(limit, _, state)
    return state - state % 2 ^ limit.bits
end

function sliding.refunded(limit, at, state, charged, cost)
    local number, previous, current = parts(limit, state)
    local charge = parts(limit, charged)
    local age = after(charge, at.tick, at.ring)
    if not (charge == (at.tick + 1) % at.ring or age == 0 or age == 1) then return nil end
    local since = (number - charge) % at.ring
    if since == 0 then current = math.max(current - cost, 0)
    elseif since == 1 then previous = math.max(previous - cost, 0)
    else return nil end
    return (number * 2 ^ limit.bits + previous) * 2 ^ limit.bits + current
end

function sliding.cleared(limit, _, state)
    return state - state % 4 ^ limit.bits
end

function gcra.refunded(limit, at, state, charged, cost)
    local unpaid = lead(at, charged)
    if unpaid == 0 then return nil end
    return (at.tick + math.max(lead(at, state) - math.min(cost * limit.span, unpaid), 0)) % at.ring
end

function gcra.cleared(_, at, state)
    if lead(at, state) == 0 then return state end
    return at.tick
end
