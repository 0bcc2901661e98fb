-- ready tells that a persistent task which was offered runs with its new holder, and wakes the one before.
--
-- ARGV[3]  M
-- ARGV[4]  number
-- ARGV[5]  the task
-- Returns  'OK', or 'gone' when M's process does not have the task
-- Cost     O(1)
-- Twice    tells twice.
persistent()
local fp, p = redis.sha1hex(ARGV[5]), ARGV[3] .. '.' .. ARGV[4]
if redis.call('HGET', holders, fp) ~= p then return 'gone' end
local before = redis.call('HGET', q .. ':offers', fp)
if before and not string.find(before, 'ready ', 1, true) and before ~= p then
  redis.call('HDEL', q .. ':offers', '') -- lets the next write pass on a full Redis
  redis.call('HSET', q .. ':offers', fp, 'ready ' .. p)
  redis.call('PUBLISH', root .. ':wake:' .. string.match(before, '^(.*)%.%d+%.%d+$'), 'wake ' .. queue)
end
return 'OK'
