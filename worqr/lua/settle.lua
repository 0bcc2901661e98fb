-- settle ends processes of one membership.
--
-- ARGV[3]  M
-- ARGV[4], ARGV[5], ARGV[6], ...  triples: number of the process, its token, outcome: 'finish', 'front' or 'back';
--          500 at the most; of several put at the front the last named is taken first
-- Returns  one word each: 'done' now; 'dropped': put back, but cancelled since, so it is gone for good;
--          'gone': M is a member and does not hold it under this token
-- Errors   FENCED  M is no member: nothing was done
-- Cost     O(processes named)
-- Twice    the second answers gone.
local m = ARGV[3]
if redis.call('HEXISTS', q .. ':workers', m) == 0 then
  return {err = 'FENCED this membership is no longer in the queue'}
end
local mine = q .. ':processes:' .. m
redis.call('LLEN', q .. ':tasks')
redis.call('SCARD', q .. ':idle')
local marks = newest() > 0
local out, back = {}, 0
for i = 4, #ARGV, 3 do
  local p, named, outcome = m .. '.' .. ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2]
  local key, token = q .. ':process:' .. p, redis.call('ZSCORE', mine, p)
  token = token and tonumber(token)
  if token ~= named then token = false end
  local task = token and redis.pcall('LINDEX', key, 0)
  if type(task) ~= 'string' then
    if token then redis.call('ZREM', mine, p) end -- its task was removed by hand
    out[#out + 1] = 'gone'
  else
    redis.call('ZREM', mine, p)
    if outcome == 'finish' then
      redis.call('DEL', key)
      redis.call('PUBLISH', root .. ':' .. queue .. ':done',
        string.match(m, '^(.*)%.') .. ' ' .. p .. ' ' .. num(token) .. '\n' .. task)
      out[#out + 1] = 'done'
    elseif marks and cancelled(task, token) then
      redis.call('DEL', key)
      out[#out + 1] = 'dropped'
    else
      redis.call('LMOVE', key, q .. ':tasks', 'LEFT', outcome == 'front' and 'RIGHT' or 'LEFT')
      back = back + 1
      out[#out + 1] = 'done'
    end
  end
end
announce(back)
return out
