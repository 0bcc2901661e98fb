-- trim drops the cancel marks that can no longer concern anyone: a day old, and older than every process in hand. When
-- the queue has neither tasks nor members it also makes every ticket for open stale that was given out before, so that
-- the queue may be forgotten: whoever opens it later has put it on the list later.
--
-- ARGV[3]  the oldest token in hand, '0' when nothing is
-- Returns  {marks dropped, '1' when the queue may be forgotten}
-- Cost     O(dropped)
-- Twice    drops nothing more: tokens only rise.
local before = now() - DAY * 1000
if ARGV[3] ~= '0' then before = math.min(before, tonumber(ARGV[3])) end
redis.call('GET', q .. ':token')
local empty = redis.call('LLEN', q .. ':tasks') + redis.call('ZCARD', q .. ':delayed') + redis.call('HLEN', q .. ':workers')
  + redis.call('SCARD', q .. ':returning') == 0
local dropped = redis.call('ZREMRANGEBYSCORE', q .. ':cancels', '-inf', '(' .. num(before))
if empty then close() end
return {num(dropped), empty and '1' or '0'}
