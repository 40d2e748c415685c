-- Sliding windows: see core/src/quota/sliding_window.rs.
local sliding = {}
kinds[2] = sliding

function sliding.at(limit, high, low)
    -- Division of a number of up to 64 bits: its upper digits by the window, then what remains of them and the lower.
    local upper = floor(high / 2 ^ (limit.shift + 10))
    local lower = shifted(high, low, limit.shift, 26)
    local first = floor(upper / limit.span)
    local rest = (upper - first * limit.span) * 2 ^ 26 + lower
    local second = floor(rest / limit.span)
    local ring = 2 ^ (36 - 2 * limit.bits)
    return {
        ring = ring,
        tick = (first % ring * 2 ^ 26 % ring + second + 1) % ring,
        elapsed = rest - second * limit.span,
    }
end

function sliding.fresh(limit, at) return at.tick * 4 ^ limit.bits end

local function parts(limit, state)
    local counts = 2 ^ limit.bits
    return floor(state / counts ^ 2), floor(state / counts) % counts, state % counts
end

function sliding.settled(limit, at, state)
    local number, previous, current = parts(limit, state)
    if after(number, at.tick, at.ring) or number == (at.tick + 1) % at.ring then return state end
    return (at.tick * 2 ^ limit.bits + previous) * 2 ^ limit.bits + current, 2 * limit.span - at.elapsed
end

-- The parts of a state as they count now: number, previous, current, ticks of the window that are over, and how long
-- until it begins.
local function seen(limit, at, state)
    local number, previous, current = parts(limit, (sliding.settled(limit, at, state)))
    if number == (at.tick + 1) % at.ring then return number, previous, current, 0, limit.span - at.elapsed end
    local age = after(number, at.tick, at.ring) or 0
    if age == 1 then previous, current = current, 0 end
    if age > 1 then previous, current = 0, 0 end
    return at.tick, previous, current, at.elapsed, 0
end

function sliding.remaining(limit, at, state)
    local _, previous, current, elapsed = seen(limit, at, state)
    return limit.limit - floor(previous * (limit.span - elapsed) / limit.span) - current
end

function sliding.charged(limit, at, state, cost)
    local number, previous, current, elapsed, early = seen(limit, at, state)
    local counts = 2 ^ limit.bits
    return (number * counts + previous) * counts + current + cost, early + 2 * limit.span - elapsed
end
