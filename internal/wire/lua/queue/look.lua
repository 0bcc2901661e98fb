-- look tells a member what it may have missed. It changes nothing.
--
-- ARGV[3]  M
-- ARGV[4]  the newest cancel mark that M knows
-- Returns  {processes that M holds, tasks waiting, newest mark, fingerprint or '*', mark, ... newer than ARGV[4],
--          oldest first, 500 at the most}
-- Errors   FENCED  M is no member
-- Cost     O(log marks + marks answered)
local m = ARGV[3]
if not member(m) then return FENCED end
local out = {
  num(redis.call('ZCARD', q .. ':processes:' .. m)), num(redis.call('LLEN', q .. ':tasks')), num(newest()),
}
return withMarks(out, ARGV[4])
