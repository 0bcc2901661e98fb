-- drop cancels persistent tasks that are not wanted any more, as long as no later Reconcile has begun.
--
-- ARGV[3]   generation
-- ARGV[4..] the tasks
-- Returns   how many were ended or are ending by this call
-- Errors    SUPERSEDED  a later Reconcile has begun
-- Cost      O(tasks * waiting): 50 at once, by 10,000 waiting 5 ms
-- Twice     ends nothing more.
if redis.call('HGET', q .. ':policy', 'generation') ~= ARGV[3] then
  return {err = 'SUPERSEDED a later call has begun'}
end
persistent()
redis.call('ZCARD', q .. ':cancels')
redis.call('HLEN', q .. ':workers')
redis.call('SCARD', q .. ':returning')
redis.call('GET', q .. ':token')
redis.call('ZREM', q .. ':cancels', '') -- lets the next write pass on a full Redis
local n = 0
for i = 4, #ARGV do
  if stop(ARGV[i]) then n = n + 1 end
end
settleMarks()
tidy()
return n
