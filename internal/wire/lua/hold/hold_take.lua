-- hold_take is take for a persistent queue: it brings no more than falls to the membership when what waits is shared out.
--
-- ARGV[3]  M
-- ARGV[4]  first number
-- ARGV[5]  how many, 500 at the most
-- Returns  {newest cancel mark, 'OK' or 'MORE', runs as take answers them, milliseconds until the next delayed task may
--          start or '-1', task, past, task, past, ...}; past: 'why token' and, when there is a checkpoint, a
--          line feed and the checkpoint; '' for a first hold. Where it is not known why the hold before ended, `why` is
--          empty, and the token is that of the hold that wrote the checkpoint
--          MORE: more falls to M
-- Errors   FENCED   M is no member
--          INVALID  less than 1 or more than 500
-- Cost     O(how many + members)
-- Twice    answers what these numbers hold and adds nothing.
local m, first, count = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
if not (first >= 1 and count >= 1 and count <= 500) then return {err = 'INVALID take: 1 to 500 at once'} end
local stored = redis.call('HGET', q .. ':workers', m)
if not stored then return FENCED end
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
  local at = kept and string.find(kept, '\n', 1, true)
  local data = at and string.sub(kept, at, -1) or ''
  out[#out + 1] = why ~= '' and why .. ' ' .. num(before) .. data or at and ' ' .. string.match(kept, '^%d+') .. data or ''
end

redis.call('SREM', unique, '') -- lets the next write pass on a full Redis, and is refused now or not at all
redis.call('ZREM', q .. ':cancels', '')
local promoted = promote()
for n = first, math.min(stored, last) do
  local task = spared('LINDEX', prefix .. num(n), 0)
  if task then bring(n, tonumber(redis.call('ZSCORE', mine, num(n)) or '0'), task) end
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
    -- What is in hand is a second copy, unless it is offered. What M offers to others and falls to M itself stays as it is.
    local p = redis.call('HGET', holders, fp)
    local offered = p and string.match(p, '^(.*)%.') ~= m and redis.call('SISMEMBER', unique, fp) == 1
      and redis.call('HGET', q .. ':offers', fp) == p
    local why, _, _, deaths = record(fp)
    if why == 'death' and deaths > 1 and not p and not claim(q .. ':trial:' .. m, fp, TRIAL) then
      redis.call('LMOVE', tasks, tasks, 'RIGHT', 'LEFT')
      left, tried = left - 1, true
    elseif not p or offered then
      redis.call('ZADD', mine, num(token), num(number)) -- first: what is in a process is always known to be
      if spared('LMOVE', tasks, prefix .. num(number), 'RIGHT', 'LEFT') then
        redis.call('HSET', holders, fp, m .. '.' .. num(number))
        -- one that was not there has waited since before the queue was persistent
        if redis.call('SREM', unique, fp) == 0 then redis.call('HSET', present, fp, task) end
        bring(number, token, task)
      else
        redis.call('ZREM', mine, num(number)) -- a key that somebody wrote by hand costs its number
      end
      number, token = number + 1, token + 1
    else
      redis.call('SREM', unique, fp)
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
