-- note puts a queue into the list of queues. A producer does so before its first push to it.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  Q
-- Returns  1 when it was new
-- Cost     O(1)
-- Twice    adds nothing.
redis.call('HLEN', KEYS[1] .. ':mesh')
redis.call('SREM', KEYS[1] .. ':queues', '') -- lets the next write pass on a full Redis
local n = redis.call('SADD', KEYS[1] .. ':queues', ARGV[2])
redis.call('HINCRBY', KEYS[1] .. ':mesh', 'notes', 1) -- no forget that was decided before this takes effect
return n
