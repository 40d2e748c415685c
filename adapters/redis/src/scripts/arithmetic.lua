-- The arithmetic of tollgate's quotas on states of 36 bits, the same as in the crate's core. Numbers are doubles, so
-- nothing here exceeds 2^53: a time in nanoseconds is two numbers, high * 2^16 + low.
--
-- A limit is { kind, limit, span, shift, bits, kept }:
--   1  fixed window: window in ticks, 2^shift ns to a tick, width of the count, lead that is kept
--   2  sliding window: the same, width of each count, 0
--   3  GCRA: interval in ticks, shift (may be below 0), most debt that is admitted, lead that is kept beyond it
local floor = math.floor

-- The tick of a time without its first addend: floor(ns / 2^shift), modulo 2^bits; bits <= 36 or shift >= 16.
local function shifted(high, low, shift, bits)
    local ring = 2 ^ bits
    if shift >= 16 then return floor(high / 2 ^ (shift - 16)) % ring end
    if shift >= 0 then return (high % ring * 2 ^ (16 - shift) + floor(low / 2 ^ shift)) % ring end
    return (high % 2 ^ 20 * 2 ^ 16 + low) * 2 ^ -shift % ring
end

-- By how much `to` lies after `from` on a ring; nil if it lies before.
local function after(from, to, ring)
    local distance = (to - from) % ring
    if distance <= ring / 2 - 1 then return distance end
    return nil
end

local fixed, sliding, gcra = {}, {}, {}

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

function gcra.refunded(limit, at, state, charged, cost)
    local unpaid = lead(at, charged)
    if unpaid == 0 then return nil end
    return (at.tick + math.max(lead(at, state) - math.min(cost * limit.span, unpaid), 0)) % at.ring
end

function gcra.cleared(_, at, state)
    if lead(at, state) == 0 then return state end
    return at.tick
end

local kinds = { fixed, sliding, gcra }

local next_argument = 0
local function argument()
    next_argument = next_argument + 1
    return tonumber(ARGV[next_argument])
end

-- The time: given, or the server's.
local function time()
    local high, low = argument(), argument()
    if high >= 0 then return high, low end
    -- Before Redis 7 a script that asks for the time may write only if its effects are replicated, not its text.
    if redis.replicate_commands then redis.replicate_commands() end
    local now = redis.pcall('TIME')
    if now.err then return nil end
    local seconds = tonumber(now[1])
    local rest = seconds % 2 ^ 16 * 1000000000 + tonumber(now[2]) * 1000
    return floor(seconds / 2 ^ 16) * 1000000000 + floor(rest / 2 ^ 16), rest % 2 ^ 16
end

local forbidden = 'TIMEFORBIDDEN this user may not call TIME in a script'

local function limit_given()
    return {
        kind = kinds[argument()], limit = argument(), span = argument(), shift = argument(), bits = argument(),
        kept = argument(),
    }
end

-- Writes a state that lasts for so many ticks and the margin in milliseconds.
local function write(key, limit, state, ticks, margin)
    local life = math.ceil(ticks * 2 ^ limit.shift / 1000000) + margin
    redis.call('SET', key, string.format('%.0f', state), 'PX', string.format('%.0f', life))
end

-- Writes a state that lasts as long as the one before it.
local function rewrite(key, state)
    redis.call('SET', key, string.format('%.0f', state), 'KEEPTTL')
end
