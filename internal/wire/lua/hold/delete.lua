-- delete removes the waiting tasks of a queue and marks it, so that what is in hand goes on but never comes back.
--
-- ARGV[3]  the answer of newest, read before the first copy of this call was sent
-- Returns  {waiting tasks removed, the mark}
-- Cost     O(1): the memory is freed in the background; of persistent tasks O(waiting)
-- Twice    a mark above ARGV[3] says that this delete, or a later one, has run: nothing is done.
local mark = redis.call('ZSCORE', q .. ':cancels', '*')
if mark and tonumber(mark) > tonumber(ARGV[3]) then return {'0', num(tonumber(mark))} end
redis.call('GET', q .. ':token')
redis.call('HLEN', q .. ':workers')
redis.call('SCARD', q .. ':returning')
local hold = persistent()
local n = redis.call('LLEN', q .. ':tasks') + redis.call('ZCARD', delayed)
if hold then
  for _, fp in ipairs(redis.call('SMEMBERS', unique)) do
    if redis.call('HEXISTS', holders, fp) == 0 then
      redis.call('HDEL', past, fp)
      redis.call('HDEL', checkpoints, fp)
      redis.call('HDEL', present, fp)
    end
  end
end
redis.call('UNLINK', q .. ':tasks', delayed, unique)
if hold then tidy() end
local token = num(draw(1))
redis.call('ZADD', q .. ':cancels', token, '*')
settleMarks()
redis.call('PUBLISH', root .. ':' .. queue .. ':delete', token)
return {num(n), token}
