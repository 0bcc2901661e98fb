-- offer lets a persistent task wait for another holder while its present one goes on, and tells how far that is.
--
-- ARGV[3]  M
-- ARGV[4]  number
-- ARGV[5]  token
-- Returns  'offered'; 'taken': another process has it; 'ready': that one has told that it runs, or has
--          ended it; 'gone': not M's, or cancelled
-- Errors   FENCED  M is no member
-- Cost     O(members)
-- Twice    offers once.
local m, number, token = ARGV[3], ARGV[4], tonumber(ARGV[5])
if not member(m) then return FENCED end
persistent()
local task = redis.pcall('LINDEX', q .. ':process:' .. m .. '.' .. number, 0)
if type(task) ~= 'string' or tonumber(redis.call('ZSCORE', q .. ':processes:' .. m, number) or '-1') ~= token then
  return 'gone'
end
local fp = redis.sha1hex(task)
local p = redis.call('HGET', holders, fp)
if p == m .. '.' .. number then
  if newest() > 0 and cancelled(task, token) then return 'gone' end -- the next hold of it would have a token above the mark
  redis.call('ZREM', q .. ':cancels', '') -- lets the next write pass on a full Redis
  if redis.call('SADD', unique, fp) == 1 then
    local _, _, fails, deaths = record(fp)
    redis.call('HSET', past, fp, 'rebalance ' .. num(token) .. ' ' .. num(fails) .. ' ' .. num(deaths))
    redis.call('HSET', q .. ':offers', fp, p)
    redis.call('RPUSH', tasks, task)
    rouse()
  end
elseif p then
  return redis.call('HGET', q .. ':offers', fp) == 'ready ' .. p and 'ready' or 'taken'
elseif redis.call('SISMEMBER', unique, fp) == 0 then
  return 'ready' -- who took it has ended it
end
return 'offered'
