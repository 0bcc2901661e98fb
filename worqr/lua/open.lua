-- open adds a membership to its queue. Called after serve, so whatever the queue knows of a worker its workmap knows too.
--
-- ARGV[3]  M  the membership
-- ARGV[4]  the answer of newest, read before the first copy of this call was sent
-- Returns  {newest cancel mark, '1' when the queue had neither tasks nor members before}
-- Errors   FENCED  M is on its way back: it was reclaimed before
--          STALE   some membership was closed after ARGV[4]; it may have been M: ask newest again, for a new M
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
local fresh = redis.call('HLEN', q .. ':workers') == 0 and redis.call('LLEN', q .. ':tasks') == 0
local mark = newest()
redis.call('SREM', q .. ':idle', m) -- lets the next write pass on a full Redis
redis.call('HSETNX', q .. ':workers', m, '0')
return {num(mark), fresh and '1' or '0'}
