-- open adds a membership to its queue. Called after serve, so whatever the queue knows of a worker its workmap knows too.
--
-- ARGV[3]  M  the membership
-- Returns  {newest cancel mark, '1' when the queue had neither tasks nor members before}
-- Errors   FENCED  M is on its way back: it was reclaimed before
-- Cost     O(1)
-- Twice    adds nothing.
local m = ARGV[3]
if redis.call('SISMEMBER', q .. ':returning', m) == 1 then
  return {err = 'FENCED this membership was reclaimed'}
end
local fresh = redis.call('HLEN', q .. ':workers') == 0 and redis.call('LLEN', q .. ':tasks') == 0
local mark = newest()
redis.call('SREM', q .. ':idle', m) -- lets the next write pass on a full Redis
redis.call('HSETNX', q .. ':workers', m, '0')
return {num(mark), fresh and '1' or '0'}
