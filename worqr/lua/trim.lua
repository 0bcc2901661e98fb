-- trim drops the cancel marks that can no longer concern anyone: a day old, and older than every process in hand.
--
-- ARGV[3]  the oldest token in hand, '0' when nothing is
-- Returns  how many were dropped
-- Cost     O(dropped)
-- Twice    drops nothing more: tokens only rise.
local before = now() - DAY * 1000
if ARGV[3] ~= '0' then before = math.min(before, tonumber(ARGV[3])) end
return num(redis.call('ZREMRANGEBYSCORE', q .. ':cancels', '-inf', '(' .. num(before)))
