-- Gives a caller its whole limit again.
-- KEYS: the caller's state. ARGV: time (two numbers, or -1 0), the limit's six figures.
-- Answers 1 if it had used any.
local high, low = time()
if not high then return redis.error_reply(forbidden) end
local limit = limit_given()
local state = tonumber(redis.call('GET', KEYS[1]))
if not state then return 0 end
local cleared = limit.kind.cleared(limit, limit.kind.at(limit, high, low), state)
if cleared == state then return 0 end
rewrite(KEYS[1], cleared)
return 1
