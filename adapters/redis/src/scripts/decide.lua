-- Decides one request by one or several limits, all or nothing.
-- KEYS: a caller's state under each limit.
-- ARGV: time (two numbers, or -1 0), margin in ms, then for each limit its six figures and
--   cost, wanted, chunk, divisor, owed
-- Answers: whether all admit, the time (two numbers), then for each limit what was charged and the state before (-1: none).
local high, low = time()
if not high then return redis.error_reply(forbidden) end
local margin = argument()
local answer = { 1, high, low }
local decided = {}
for index, key in ipairs(KEYS) do
    local limit = limit_given()
    local cost, wanted, chunk, divisor, owed = argument(), argument(), argument(), argument(), argument()
    local at = limit.kind.at(limit, high, low)
    local stored = tonumber(redis.call('GET', key))
    local state = stored or limit.kind.fresh(limit, at)
    local lasts
    -- What was admitted while nobody could ask is charged first, as far as it fits.
    owed = math.min(owed, math.max(limit.kind.remaining(limit, at, state), 0))
    if owed > 0 then
        state, lasts = limit.kind.charged(limit, at, state, owed)
        stored = state
    end
    local before = stored or -1
    local remaining = limit.kind.remaining(limit, at, state)
    -- What is wanted now, and then what may be charged ahead, for as long as some of it would not be stranded.
    local charge = math.max(cost, math.min(wanted, remaining), math.min(chunk, floor(remaining / divisor)))
    if cost > 0 and cost > remaining then
        charge, answer[1] = 0, 0
        local settled, from_now = limit.kind.settled(limit, at, state)
        if from_now and stored then state, lasts = settled, from_now end
    end
    decided[index] = { limit = limit, at = at, key = key, state = state, lasts = lasts, charge = charge }
    answer[2 + 2 * index], answer[3 + 2 * index] = charge, before
end
for _, one in ipairs(decided) do
    if answer[1] == 1 and one.charge > 0 then
        one.state, one.lasts = one.limit.kind.charged(one.limit, one.at, one.state, one.charge)
    end
    if one.lasts then write(one.key, one.limit, one.state, one.lasts, margin) end
end
return answer
