-- appear puts a worker among those whose presence is watched, if the server sees its presence subscription.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  W
-- Returns  1, or 0 when the server counts nobody on the channel (a proxy, a cluster), or may not tell
-- Errors   LOST  W has no heartbeat
-- Cost     O(1)
-- Twice    adds nothing.
local p, w = KEYS[1], ARGV[2]
if redis.call('EXISTS', p .. ':worker:' .. w) == 0 then return {err = 'LOST the heartbeat is gone'} end
local seen = redis.pcall('PUBSUB', 'NUMSUB', ARGV[1] .. ':here:' .. w)
if seen.err or seen[2] == 0 then return 0 end
redis.call('SREM', p .. ':present', '') -- lets the next write pass on a full Redis
redis.call('SADD', p .. ':present', w)
return 1
