-- open adds a membership to its queue. Called after serve, so whatever the queue knows of a worker its workmap knows too,
-- and the list of queues knows the queue.
--
-- ARGV[3]  M  the membership
-- ARGV[4]  the ticket: the answer of newest, read before serve
-- ARGV[5]  '1' when the queue is served as one of persistent tasks, else '0'
-- ARGV[6]  or none: '1' when peers may take over as soon as M's worker is not present
-- ARGV[7], ARGV[8]  of persistent tasks: M's weight, and its limit or '0'
-- Returns  the newest cancel mark
-- Errors   FENCED  M is on its way back: it was reclaimed before
--          STALE   after ARGV[4] a membership was closed, which may have been M, or the queue was found empty, so it may
--                  have been forgotten: begin again with a new M
--          CONFIG  the queue is persistent and ARGV[5] says otherwise, or has members for whom it is not
-- Cost     O(1); of a persistent queue O(members)
-- Twice    adds nothing, also when M was closed in between: a membership is never opened again.
local m = ARGV[3]
if redis.call('SISMEMBER', q .. ':returning', m) == 1 then
  return {err = 'FENCED this membership was reclaimed'}
end
if not member(m)
  and tonumber(redis.call('GET', q .. ':closed') or '0') > tonumber(ARGV[4]) then
  return {err = 'STALE a membership was closed meanwhile'}
end
local hold = persistent()
if hold and ARGV[5] ~= '1' then
  return {err = 'CONFIG Persistent: the queue is one of persistent tasks'}
elseif not hold and ARGV[5] == '1' and redis.call('HLEN', q .. ':workers') > redis.call('HEXISTS', q .. ':workers', m) then
  return {err = 'CONFIG Persistent: a worker serves the queue as one of one-shot tasks'}
end
local mark = newest()
redis.call('SCARD', q .. ':fast')
redis.call('SREM', q .. ':idle', m) -- lets the next write pass on a full Redis
redis.call('HSETNX', q .. ':workers', m, '0')
if ARGV[6] == '1' then redis.call('SADD', q .. ':fast', m) end
if ARGV[5] == '1' then
  redis.call('HSET', q .. ':policy', 'persistent', '1')
  redis.call('PERSIST', q .. ':policy')
  redis.call('HSETNX', shares, m, ARGV[7] .. ' ' .. ARGV[8] .. ' ' .. num(now()))
  rouse()
end
return num(mark)
