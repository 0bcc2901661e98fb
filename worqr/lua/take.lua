-- take moves tasks from the front of the queue into processes of one membership.
-- The caller numbers the processes, so a repeated or late take answers what these numbers hold and adds nothing.
--
-- ARGV[3]  M
-- ARGV[4]  first number
-- ARGV[5]  how many, 500 at the most
-- ARGV[6]  '1': when the queue runs empty, note M as idle so that an enqueue wakes it
-- Returns  {newest cancel mark, 'OK', 'MORE' or 'HELP', number, token, task, number, token, task, ...}
--          MORE: tasks are left
--          HELP: a reclaim was under way and a chunk of it was done instead; ask again
-- Errors   FENCED   M is no member
--          INVALID  less than 1 or more than 500
-- Cost     O(how many); O(500) while a reclaim is under way
local m, first, count, park = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
if not (first >= 1 and count >= 1 and count <= 500) then return {err = 'INVALID take: 1 to 500 at once'} end
local stored = redis.call('HGET', q .. ':workers', m)
if not stored then return {err = 'FENCED this membership is no longer in the queue'} end
stored = tonumber(stored)
local key, mine, last = q .. ':process:' .. m .. '.', q .. ':processes:' .. m, first + count - 1
local out = {num(newest()), 'OK'}

local function answer(n, token, task)
  out[#out + 1] = num(n)
  out[#out + 1] = num(token)
  out[#out + 1] = task
end

for n = first, math.min(stored, last) do
  local task = redis.call('LINDEX', key .. num(n), 0)
  if task then answer(n, tonumber(redis.call('ZSCORE', mine, m .. '.' .. num(n)) or '0'), task) end
end
local from = math.max(first, stored + 1)
if from > last then return out end

redis.call('ZCARD', mine)
redis.call('SCARD', q .. ':idle')
redis.call('GET', q .. ':token')
redis.call('LLEN', q .. ':tasks')
if redis.call('SCARD', q .. ':returning') > 0 then
  local back = putback(500)
  announce(back)
  if redis.call('SCARD', q .. ':returning') > 0 then
    out[2] = 'HELP'
    return out
  end
end

local waiting = redis.call('LLEN', q .. ':tasks')
local n = math.min(waiting, last - from + 1)
redis.call('SREM', q .. ':idle', m)
redis.call('HSET', q .. ':workers', m, num(last)) -- also what found no task: these numbers never draw again
if n > 0 then
  local token, scores = draw(n), {}
  for i = 0, n - 1 do
    local p = num(from + i)
    -- pcall: a key that somebody wrote by hand costs its number, and strands nothing
    local task = redis.pcall('LMOVE', q .. ':tasks', key .. p, 'RIGHT', 'LEFT')
    if type(task) == 'string' then
      answer(from + i, token + i, task)
      scores[#scores + 1] = num(token + i)
      scores[#scores + 1] = m .. '.' .. p
    end
  end
  n = #scores / 2
  if n > 0 then redis.call('ZADD', mine, unpack(scores)) end
end
if waiting > n then
  out[2] = 'MORE'
  wake(1) -- a baton: tasks are left, so one more is told
elseif park and from + n <= last then
  redis.pcall('SADD', q .. ':idle', m)
end
return out
