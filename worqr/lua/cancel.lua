-- cancel ends every copy of a task: a stored mark first, which holds whatever is told or lost, then the waiting copies,
-- then a hint to those who hold one.
-- Needs hold.lua.
--
-- ARGV[3]  the task
-- ARGV[4]  the answer of newest, read before the first copy of this call was sent
-- Returns  {waiting copies removed, the mark}
-- Cost     O(waiting): one LREM, about 10 ms per million waiting
-- Twice    a mark above ARGV[4] says that this cancel, or a later one, has run: nothing is done.
local task = ARGV[3]
local fingerprint = redis.sha1hex(task)
local mark = redis.call('ZSCORE', q .. ':cancels', fingerprint)
if mark and tonumber(mark) > tonumber(ARGV[4]) then return {'0', num(tonumber(mark))} end
redis.call('GET', q .. ':token')
redis.call('LLEN', q .. ':tasks')
redis.call('HLEN', q .. ':workers')
redis.call('SCARD', q .. ':returning')
local hold = persistent()
redis.call('ZREM', q .. ':cancels', '') -- lets the next write pass on a full Redis
local token = num(draw(1))
redis.call('ZADD', q .. ':cancels', token, fingerprint)
settleMarks()
local n = redis.call('LREM', q .. ':tasks', 0, task)
if hold and redis.call('SREM', unique, fingerprint) == 1 then
  n = math.max(1, n + redis.call('ZREM', delayed, task))
  if redis.call('HEXISTS', holders, fingerprint) == 0 then
    redis.call('HDEL', past, fingerprint)
    redis.call('HDEL', present, fingerprint)
  end
  tidy()
end
redis.call('PUBLISH', root .. ':' .. queue .. ':cancel', token .. '\n' .. task)
return {num(n), token}
