-- Decides requests by limits: one request by all of them, all or nothing, or one request by each.
-- KEYS: a caller's state under each limit.
-- ARGV: time (two numbers, or -1 0), margin in ms, 1 if all or nothing and 0 if each by itself, then for each limit its six
-- figures and
--   cost, wanted, chunk, divisor, owed
-- Answers: whether all admit, the time (two numbers), then for each limit what was charged (0: refused), the state before
-- (-1: none) and how much of what was owed was charged.
local high, low = time()
if not high then return redis.error_reply(forbidden) end
local margin, together = argument(), argument() == 1
local answer = { 1, high, low }

local function decided(key)
    local limit = limit_given()
    local kind = limit.kind
    local cost, wanted, chunk, divisor, owed = argument(), argument(), argument(), argument(), argument()
    local at = kind.at(limit, high, low)
    local stored = tonumber(redis.call('GET', key))
    local state, lasts = stored or kind.fresh(limit, at), nil
    local remaining = kind.remaining(limit, at, state)
    -- What was admitted while nobody could ask is charged first, as far as it fits.
    owed = math.min(owed, math.max(remaining, 0))
    if owed > 0 then
        state, lasts = kind.charged(limit, at, state, owed)
        stored, remaining = state, kind.remaining(limit, at, state)
    end
    -- What is wanted now, and then what may be charged ahead, for as long as some of it would not be stranded.
    local charge = math.max(cost, math.min(wanted, remaining), math.min(chunk, floor(remaining / divisor)))
    if cost > 0 and cost > remaining then
        charge, answer[1] = 0, 0
        local settled, from_now = kind.settled(limit, at, state)
        if from_now and stored then state, lasts = settled, from_now end
    end
    answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = charge, stored or -1, owed
    return { key = key, limit = limit, at = at, state = state, lasts = lasts, charge = charge }
end

local function carry_out(one, charge)
    if charge > 0 then one.state, one.lasts = one.limit.kind.charged(one.limit, one.at, one.state, charge) end
    if one.lasts then write(one.key, one.limit, one.state, one.lasts, margin) end
end

local waiting = {}
for index, key in ipairs(KEYS) do
    local one = decided(key)
    if together then waiting[index] = one else carry_out(one, one.charge) end
end
for _, one in ipairs(waiting) do carry_out(one, answer[1] == 1 and one.charge or 0) end
return answer
