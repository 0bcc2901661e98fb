-- enqueue appends tasks, in their order, and wakes one idle membership for each. All of them or none.
--
-- ARGV[3..]  the tasks, 500 at the most
-- Returns    {how many wait now, '1' when the queue had neither tasks nor members before: note it again}
-- Errors     FULL        Redis is out of memory and evicts nothing
--            PERSISTENT  the queue is one of persistent tasks: see add
-- Cost       O(tasks), the same with 1 idle membership as with 1,000
-- Twice      stores twice: the one script that a client never repeats once it was sent.
if redis.call('EXISTS', q .. ':policy') == 1 then return {err = 'PERSISTENT the queue is one of persistent tasks'} end
local members = redis.call('HLEN', q .. ':workers')
redis.call('SCARD', q .. ':idle')
local n = redis.pcall('LPUSH', q .. ':tasks', unpack(ARGV, 3))
if type(n) == 'table' then
  if string.find(n.err, 'OOM', 1, true) then return {err = 'FULL ' .. n.err} end
  return n
end
announce(#ARGV - 2)
return {num(n), members == 0 and n == #ARGV - 2 and '1' or '0'}
