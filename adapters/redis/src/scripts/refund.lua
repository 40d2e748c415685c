-- Gives a charge back.
-- KEYS: the caller's state. ARGV: time (two numbers, or -1 0), the limit's six figures, the state that the charge left
-- behind, its cost.
-- Answers 1 if the charge still counted.
local high, low = time()
if not high then return redis.error_reply(forbidden) end
local limit = limit_given()
local charged, cost = argument(), argument()
local state = tonumber(redis.call('GET', KEYS[1]))
if not state then return 0 end
local refunded = limit.kind.refunded(limit, limit.kind.at(limit, high, low), state, charged, cost)
if not refunded then return 0 end
rewrite(KEYS[1], refunded)
return 1
