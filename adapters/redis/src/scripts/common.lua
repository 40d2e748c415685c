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

local kinds = {}

local next_argument = 0
local function argument()
    next_argument = next_argument + 1
    return tonumber(ARGV[next_argument])
end

-- The time: given, or the server's.
local function time()
    local high, low = argument(), argument()
    if high >= 0 then return high, low end
    -- Before Redis 7, which tells its version, a script that asks for the time may write only if its effects are
    -- replicated, not its text.
    if not redis.REDIS_VERSION_NUM and redis.replicate_commands then redis.replicate_commands() end
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
    redis.call('SET', key, state, 'PX', life)
end

-- Writes a state that lasts as long as the one before it.
local function rewrite(key, state)
    redis.call('SET', key, state, 'KEEPTTL')
end
