-- take moves tasks from the front of the queue into processes of one membership.
-- The caller numbers the processes, so a repeated or late take answers what these numbers hold and adds nothing.
--
-- ARGV[3]  M
-- ARGV[4]  first number
-- ARGV[5]  how many, 500 at the most
-- ARGV[6]  note M as idle, so that an enqueue wakes it: '1' when the queue runs empty, '2' when it was empty, '0' never
-- ARGV[7]  or none: what M settles before it takes, as settle.lua is told
-- Returns  {newest cancel mark, 'OK', 'MORE' or 'HELP', runs, task, task, ...}; with ARGV[7] what settle answers stands
--          behind the runs
--          runs: 'number token count number token count ...': of the tasks the first `count` are in the processes from
--          `number` on, and have the tokens from `token` on, then come those of the next run
--          MORE: tasks are left
--          HELP: a reclaim was under way and a chunk of it was done instead; ask again
-- Errors   FENCED   M is no member
--          INVALID  less than 1 or more than 500
-- Cost     O(how many); of 32 more while a reclaim is under way
local m, first, count, park = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
if not (first >= 1 and count >= 1 and count <= 500) or ARGV[7] and named(ARGV[7]) > 500 then
  return {err = 'INVALID take: 1 to 500 at once'}
end
local stored = redis.call('HGET', q .. ':workers', m)
if not stored then return FENCED end
stored = tonumber(stored)
local prefix, mine, last = q .. ':process:' .. m .. '.', q .. ':processes:' .. m, first + count - 1
local mark = newest()
local out, runs = {num(mark), 'OK', ''}, {}
redis.call('ZCARD', mine)
redis.call('SREM', q .. ':idle', '') -- reads its type, and lets the next write pass on a full Redis
local latest = tonumber(redis.call('GET', q .. ':token') or '0')
local waiting = redis.call('LLEN', q .. ':tasks')
local returning = redis.call('SCARD', q .. ':returning')
if returning > 0 then checkReturning() end

local function run(number, token, n) runs[#runs + 1] = num(number) .. ' ' .. num(token) .. ' ' .. num(n) end

local function answer()
  out[3] = table.concat(runs, ' ')
  return out
end

if ARGV[7] then
  out[4] = settle(m, ARGV[7], mark > 0)
  waiting = redis.call('LLEN', q .. ':tasks')
end
for n = first, math.min(stored, last) do
  local task = redis.pcall('LINDEX', prefix .. num(n), 0)
  if type(task) == 'string' then
    run(n, tonumber(redis.call('ZSCORE', mine, num(n)) or '0'), 1)
    out[#out + 1] = task
  end
end
local from = math.max(first, stored + 1)
if from > last then return answer() end

if returning > 0 then
  local back = putback(32)
  announce(back)
  if redis.call('SCARD', q .. ':returning') > 0 then
    out[2] = 'HELP'
    return answer()
  end
  waiting = redis.call('LLEN', q .. ':tasks')
end

local n = math.min(waiting, last - from + 1)
redis.call('SREM', q .. ':idle', m)
redis.call('HSET', q .. ':workers', m, num(last)) -- also what found no task: these numbers never draw again
if n > 0 then
  local token, pcall, tasks = draw(n, latest), redis.pcall, q .. ':tasks'
  local scores, taken, begun, at = {}, 0, 0, #out -- begun: how many are before the last run
  local names, tokens = rising(from), rising(token)
  for i = n, 1, -1 do -- the newest first: so ZADD finds each place at once
    scores[2 * i - 1] = tokens()
    scores[2 * i] = names()
  end
  redis.call('ZADD', mine, unpack(scores)) -- before the tasks: what is in a process is always known to be
  for i = 1, n do
    local name = scores[2 * (n - i + 1)]
    local task = pcall('LMOVE', tasks, prefix .. name, 'RIGHT', 'LEFT')
    if type(task) == 'string' then
      taken = taken + 1
      out[at + taken] = task
    else -- a key that somebody wrote by hand costs its number, and strands nothing
      spared('LMOVE', tasks, prefix .. name, 'RIGHT', 'LEFT')
      redis.call('ZREM', mine, name)
      if i > begun + 1 then run(from + begun, token + begun, i - 1 - begun) end
      begun = i
    end
  end
  if n > begun then run(from + begun, token + begun, n - begun) end
  n = taken
end
if waiting > n then
  out[2] = 'MORE'
  wake(1) -- a baton: tasks are left, so one more is told
elseif from + n <= last and (park == '1' or park == '2' and n == 0) then
  redis.pcall('SADD', q .. ':idle', m)
end
return answer()
