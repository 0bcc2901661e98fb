-- fail ends the heartbeat of a worker by hand and tells it. Peers wait as long as it may still trust its last beat.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  W
-- Returns  1, or 0 when no such worker is registered
-- Cost     O(1)
-- Twice    is the same.
local p, w = KEYS[1], ARGV[2]
if redis.call('SISMEMBER', p .. ':workers', w) == 0 then return 0 end
redis.call('HLEN', p .. ':info:' .. w)
redis.call('DEL', p .. ':worker:' .. w)
redis.call('HSET', p .. ':info:' .. w, 'failed', redis.call('TIME')[1])
redis.call('PUBLISH', ARGV[1] .. ':wake:' .. w, 'fail')
return 1
