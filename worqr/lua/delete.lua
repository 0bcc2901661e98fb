-- delete removes the waiting tasks of a queue and marks it, so that what is in hand goes on but never comes back.
-- Needs hold.lua.
--
-- ARGV[3]  the answer of newest, read before the first copy of this call was sent
-- Returns  {waiting tasks removed, the mark}
-- Cost     O(1): the memory is freed in the background
-- Twice    a mark above ARGV[3] says that this delete, or a later one, has run: nothing is done.
local mark = redis.call('ZSCORE', q .. ':cancels', '*')
if mark and tonumber(mark) > tonumber(ARGV[3]) then return {'0', num(tonumber(mark))} end
redis.call('GET', q .. ':token')
redis.call('HLEN', q .. ':workers')
redis.call('SCARD', q .. ':returning')
local hold = persistent()
local n = redis.call('LLEN', q .. ':tasks') + redis.call('ZCARD', delayed)
redis.call('UNLINK', q .. ':tasks', delayed, unique)
if hold then tidy() end
local token = num(draw(1))
redis.call('ZADD', q .. ':cancels', token, '*')
settleMarks()
redis.call('PUBLISH', root .. ':' .. queue .. ':delete', token)
return {num(n), token}
