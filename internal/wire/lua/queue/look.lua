-- look tells a member what it may have missed. It changes nothing.
--
-- ARGV[3]  M
-- ARGV[4]  the newest cancel mark that M knows
-- Returns  {processes that M holds, tasks waiting, newest mark, fingerprint or '*', mark, ... newer than ARGV[4],
--          oldest first, 500 at the most}
-- Errors   FENCED  M is no member
-- Cost     O(log marks + marks answered)
local m = ARGV[3]
if redis.call('HEXISTS', q .. ':workers', m) == 0 then
  return {err = 'FENCED this membership is no longer in the queue'}
end
local out = {
  num(redis.call('ZCARD', q .. ':processes:' .. m)), num(redis.call('LLEN', q .. ':tasks')), num(newest()),
}
local marks = redis.call('ZRANGEBYSCORE', q .. ':cancels', '(' .. ARGV[4], '+inf', 'WITHSCORES', 'LIMIT', 0, 500)
for i = 1, #marks, 2 do
  out[#out + 1] = marks[i]
  out[#out + 1] = num(tonumber(marks[i + 1]))
end
return out
