-- note puts a queue into the list of queues. A producer does so before its first push to it.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  Q
-- Returns  1 when it was new
-- Errors   FULL  Redis is out of memory and evicts nothing: nor would it take the task
-- Cost     O(1)
-- Twice    adds nothing.
redis.call('HLEN', KEYS[1] .. ':mesh')
local n = redis.pcall('SADD', KEYS[1] .. ':queues', ARGV[2])
if type(n) == 'table' then
  if string.find(n.err, 'OOM', 1, true) then return {err = 'FULL ' .. n.err} end
  return n
end
redis.call('HINCRBY', KEYS[1] .. ':mesh', 'notes', 1) -- no forget that was decided before this takes effect
return n
