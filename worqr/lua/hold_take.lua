-- hold_take is take for a persistent queue: it brings no more than falls to the membership when what waits is shared out.
-- Needs hold.lua.
--
-- ARGV[3]  M
-- ARGV[4]  first number
-- ARGV[5]  how many, 500 at the most
-- Returns  {newest cancel mark, 'OK' or 'MORE', runs as take answers them, milliseconds until the next delayed task may
--          start or '-1', task, past, task, past, ...}; past: 'why token' and, when there is a checkpoint, a
--          line feed and the checkpoint; '' for a first hold
--          MORE: more falls to M
-- Errors   FENCED   M is no member
--          INVALID  less than 1 or more than 500
-- Cost     O(how many + members)
-- Twice    answers what these numbers hold and adds nothing.
local m, first, count = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
if not (first >= 1 and count >= 1 and count <= 500) then return {err = 'INVALID take: 1 to 500 at once'} end
local stored = redis.call('HGET', q .. ':workers', m)
if not stored then return {err = 'FENCED this membership is no longer in the queue'} end
stored = tonumber(stored)
local prefix, mine, last = q .. ':process:' .. m .. '.', q .. ':processes:' .. m, first + count - 1
redis.call('ZCARD', mine)
local latest = tonumber(redis.call('GET', q .. ':token') or '0')
persistent()
local out, runs = {num(newest()), 'OK', '', '-1'}, {}

-- Of the tasks that come back from a second early death, a membership begins one at a time: so the one that kills is found
-- out, and the others live on. What it may not begin yet goes to the end of those that wait, where others find it.
local TRIAL = 300 -- milliseconds

local function bring(number, token, task)
  runs[#runs + 1] = num(number) .. ' ' .. num(token) .. ' 1'
  local fp = redis.sha1hex(task)
  local why, before = record(fp)
  out[#out + 1] = task
  local kept = redis.call('HGET', checkpoints, fp) -- 'token count\n' and the data
  kept = kept and string.sub(kept, string.find(kept, '\n', 1, true), -1) or ''
  out[#out + 1] = why ~= '' and why .. ' ' .. num(before) .. kept or ''
end

redis.call('ZREM', delayed, '') -- lets the next write pass on a full Redis
local promoted = promote()
for n = first, math.min(stored, last) do
  local task = redis.pcall('LINDEX', prefix .. num(n), 0)
  if type(task) == 'string' then bring(n, tonumber(redis.call('ZSCORE', mine, num(n)) or '0'), task) end
end
local from, tried = math.max(first, stored + 1), false
if from <= last then
  redis.call('HSET', q .. ':workers', m, num(last)) -- also what found no task: these numbers never draw again
  local share = allot()[m] or 0
  local n = math.min(share, last - from + 1)
  local number = from
  local token = n > 0 and draw(n, latest)
  local left = redis.call('LLEN', tasks)
  while number < from + n and left > 0 do
    local task = redis.call('LINDEX', tasks, -1)
    if not task then break end
    local fp = redis.sha1hex(task)
    -- What is in nobody's hands and not among those that wait was cancelled, and what is in hand is a second copy.
    local waits, p = redis.call('SREM', unique, fp) == 1, redis.call('HGET', holders, fp)
    -- What M offers to others and falls to M itself stays as it is.
    local own = p and string.match(p, '^(.*)%.') == m
    local why, _, _, deaths = record(fp)
    if why == 'death' and deaths > 1 and not p and not redis.call('SET', q .. ':trial:' .. m, fp, 'PX', TRIAL, 'NX') then
      redis.call('LMOVE', tasks, tasks, 'RIGHT', 'LEFT')
      redis.call('SADD', unique, fp)
      left, tried = left - 1, true
    elseif not p or waits and not own and redis.call('HGET', q .. ':offers', fp) == p then
      redis.call('LMOVE', tasks, prefix .. num(number), 'RIGHT', 'LEFT')
      redis.call('HSET', holders, fp, m .. '.' .. num(number))
      if not waits then redis.call('HSET', present, fp, task) end -- it waited before the queue was persistent
      redis.call('ZADD', mine, num(token), num(number))
      bring(number, token, task)
      number, token = number + 1, token + 1
    else
      redis.call('RPOP', tasks)
    end
  end
  if share > n then out[2] = 'MORE' end
end
if promoted > 0 then rouse() end
out[3] = table.concat(runs, ' ')
local next = due()
out[4] = num(tried and (next < 0 or next > TRIAL) and TRIAL or next)
return out
