-- Enters a node among those that share a budget and answers all of them, as 'fingerprint of the seed, space, name'.
-- KEYS: the register. ARGV: time (two numbers, or -1 0), the node's entry, for how many seconds it lasts.
local high, low = time()
if not high then return redis.error_reply(forbidden) end
local seconds = floor(high * 65536 / 1000000000)
local lasts = tonumber(ARGV[4])
redis.call('ZADD', KEYS[1], seconds, ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', seconds - lasts)
redis.call('EXPIRE', KEYS[1], 2 * lasts)
return redis.call('ZRANGE', KEYS[1], 0, -1)
