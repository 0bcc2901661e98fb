-- generation begins a Reconcile: it marks the queue as persistent, and ends the reach of every earlier one.
--
-- Returns  the generation
-- Errors   CONFIG  the queue is served as one of one-shot tasks
-- Cost     O(1)
-- Twice    the second is the later one.
local hold, members = persistent(), redis.call('HLEN', q .. ':workers')
if not hold and (members > 0 or redis.call('LLEN', tasks) > 0) then
  return {err = 'CONFIG Persistent: the queue holds one-shot tasks'}
end
redis.call('GET', q .. ':token')
redis.call('HLEN', q .. ':policy')
redis.call('ZREM', q .. ':cancels', '') -- lets the next write pass on a full Redis
local g = num(draw(1))
redis.call('HSET', q .. ':policy', 'persistent', '1', 'generation', g)
if redis.call('LLEN', tasks) + redis.call('HLEN', holders) + redis.call('SCARD', unique) + members == 0 then
  redis.call('PEXPIRE', q .. ':policy', DAY) -- until add or open: this Reconcile may bring nothing, or come to no end
else
  redis.call('PERSIST', q .. ':policy')
end
return g
