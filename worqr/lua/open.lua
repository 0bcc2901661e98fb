-- open adds a membership to its queue. Called after serve, so whatever the queue knows of a worker its workmap knows too,
-- and the list of queues knows the queue.
--
-- ARGV[3]  M  the membership
-- ARGV[4]  the ticket: the answer of newest, read before serve
-- Returns  the newest cancel mark
-- Errors   FENCED  M is on its way back: it was reclaimed before
--          STALE   after ARGV[4] a membership was closed, which may have been M, or the queue was found empty, so it may
--                  have been forgotten: begin again with a new M
-- Cost     O(1)
-- Twice    adds nothing, also when M was closed in between: a membership is never opened again.
local m = ARGV[3]
if redis.call('SISMEMBER', q .. ':returning', m) == 1 then
  return {err = 'FENCED this membership was reclaimed'}
end
if redis.call('HEXISTS', q .. ':workers', m) == 0
  and tonumber(redis.call('GET', q .. ':closed') or '0') > tonumber(ARGV[4]) then
  return {err = 'STALE a membership was closed meanwhile'}
end
local mark = newest()
redis.call('SREM', q .. ':idle', m) -- lets the next write pass on a full Redis
redis.call('HSETNX', q .. ':workers', m, '0')
return num(mark)
