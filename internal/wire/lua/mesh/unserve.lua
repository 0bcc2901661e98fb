-- unserve takes a queue out of the workmap of a worker. Called after the membership was closed.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  W
-- ARGV[3]  Q
-- ARGV[4]  the number of this edit of W's workmap: it rises, and an edit older than the last one has no effect
-- Returns  'OK', or 'OLD' when a newer edit was here first
-- Errors   LOST  W has no heartbeat
-- Cost     O(1)
-- Twice    removes nothing more.
local p, w = KEYS[1], ARGV[2]
if redis.call('EXISTS', p .. ':worker:' .. w) == 0 then return {err = 'LOST the heartbeat is gone'} end
if tonumber(redis.call('HGET', p .. ':info:' .. w, 'edit') or '0') > tonumber(ARGV[4]) then return 'OLD' end
redis.call('SREM', p .. ':workmap:' .. w, ARGV[3])
redis.call('HSET', p .. ':info:' .. w, 'edit', ARGV[4])
return 'OK'
