-- reclaim takes a membership out of its queue and puts its processes back at the front, a chunk a call.
-- Its first step fences the owner. Any number of peers may run it at once, and takers help. The owner calls it too,
-- to close its own membership.
--
-- ARGV[3]  M
-- ARGV[4]  how many processes this call may move
-- ARGV[5]  or none: why persistent tasks move: 'death'; 'lapse', which is a death for which no task is blamed, as nobody saw
--          the worker's process end; or else 'drain'
-- ARGV[6]  of a death, how long ago in milliseconds the worker can have lived at most: a hold younger than that and a bit
--          may have killed it
-- Returns  {put back, dropped because cancelled, '1' while M is still returning: call again, '1' when M was a member}
-- Cost     O(ARGV[4] + idle memberships woken)
-- Twice    each process returns once.
local m = ARGV[3]
local latest = tonumber(redis.call('GET', q .. ':token') or '0') -- before one is drawn here
newest()
checkReturning()
local was, hold = fence(m)
local why, from = ARGV[5] or 'drain', NEVER
if hold and why == 'death' and ARGV[6] then from = blamed(ARGV[6], latest) end
if why == 'lapse' then why = 'death' end
-- Each member's tasks move for the reason for which it was taken out, whoever puts them back.
local fates = q .. ':fates'
if hold and redis.call('SISMEMBER', q .. ':returning', m) == 1 then
  redis.call('HSETNX', fates, m, why .. ' ' .. num(from))
end
local back, dropped = putback(tonumber(ARGV[4]), hold and function(one, number, task, token, marks)
  local why, since = string.match(redis.call('HGET', fates, one) or 'drain 0', '^(%a+) (%d+)$')
  return letgo(one, number, task, token, why, marks, tonumber(since))
end)
if hold then
  for _, one in ipairs(redis.call('HKEYS', fates)) do
    if redis.call('SISMEMBER', q .. ':returning', one) == 0 then redis.call('HDEL', fates, one) end
  end
end
local still = redis.call('SISMEMBER', q .. ':returning', m)
if back > 0 then redis.call('PUBLISH', root .. ':' .. queue .. ':work', num(back)) end
-- A worker that died may have taken a wake-up with it, so at the end one is sent for every task that waits.
if hold then
  rouse()
  tidy()
else
  wake(still == 0 and math.min(redis.call('LLEN', q .. ':tasks'), 500) or back)
end
settleMarks()
return {num(back), num(dropped), num(still), was and '1' or '0'}
