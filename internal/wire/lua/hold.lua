-- Prelude of the scripts that know persistent tasks; after lib.lua. docs/protocol.md tells what the keys hold.

local NEVER = 9e15 -- a date, or later: it is added again, and waits until the process that was cancelled has ended
local SECOND = 1000000 -- microseconds, as tokens are
local SETTLED = 60 * SECOND -- what was held for so long has no failures behind it

local tasks, delayed, unique, holders = q .. ':tasks', q .. ':delayed', q .. ':unique', q .. ':holders'
local past, checkpoints, shares, present = q .. ':past', q .. ':checkpoints', q .. ':shares', q .. ':present'
local times = q .. ':clock'

-- persistent tells whether the queue is one of persistent tasks, having read the type of all that may be written then.
local function persistent()
  redis.call('LLEN', tasks)
  redis.call('ZCARD', delayed)
  redis.call('SCARD', unique)
  redis.call('HLEN', holders)
  redis.call('HLEN', past)
  redis.call('HLEN', checkpoints)
  redis.call('HLEN', shares)
  redis.call('HLEN', present)
  redis.call('HLEN', q .. ':offers')
  redis.call('HLEN', times)
  return redis.call('HEXISTS', q .. ':policy', 'persistent') == 1
end

-- record reads what is kept of a task: why its last hold ended and which token it had, how many holds in a row ended by
-- their handler's return, and how many by the early death of their worker.
local function record(fp)
  local text = redis.call('HGET', past, fp) or ''
  local why, token, fails, deaths = string.match(text, '^(%a+) (%d+) (%d+) (%d+)$')
  return why or '', tonumber(token or 0), tonumber(fails or 0), tonumber(deaths or 0)
end

-- clock returns the queue's clock in microseconds: Redis's own, but where that steps back this one goes on at its pace. All
-- dates of delayed tasks are dates of this clock. It also returns Redis's clock, and what that may have shown at most before
-- it last stepped back, with all tokens that were drawn until then: whatever has a token up to there may be older than it
-- looks. `last` is the highest that anybody saw, to a quarter of a second; it is kept while the queue has a task.
local time, skew, step
local function clock()
  if time then return time + skew, time, step end
  local kept = redis.call('HMGET', times, 'last', 'skew', 'step')
  local last = tonumber(kept[1] or '0')
  time, skew, step = now(), tonumber(kept[2] or '0'), tonumber(kept[3] or '0')
  if time + skew < last then
    -- pcall: not every caller has read its type before its first write
    step = math.max(last - skew, tonumber(redis.pcall('GET', q .. ':token')) or 0) + SECOND
    skew = last - time
    redis.call('HSET', times, 'last', num(last), 'skew', num(skew), 'step', num(step))
  elseif time + skew - last > SECOND / 4 and redis.call('HLEN', holders) + redis.call('SCARD', unique) > 0 then
    redis.call('HSET', times, 'last', num(time + skew))
  end
  return time + skew, time, step
end

-- claim sets a key for ms milliseconds unless it is there, and reports whether it did. Redis keeps the date at which a key
-- ends: one that lasts for longer than ms was set before Redis's clock stepped back, and is cut down.
local function claim(key, value, ms)
  if redis.call('SET', key, value, 'PX', num(ms), 'NX') then return true end
  if redis.call('PTTL', key) > ms then redis.call('PEXPIRE', key, num(ms)) end
  return false
end

-- promote lets wait what was delayed until now. Answers how many that were.
local function promote()
  local t, n = clock(), 0
  for _, task in ipairs(redis.call('ZRANGEBYSCORE', delayed, '-inf', num(t), 'LIMIT', 0, 100)) do
    redis.call('RPUSH', tasks, task) -- first: refused half-way, it waits twice rather than nowhere
    redis.call('ZREM', delayed, task)
    n = n + 1
  end
  return n
end

-- due answers in how many milliseconds the next delayed task may be started, -1 when none is to be.
local function due()
  local first = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
  if not first[2] or tonumber(first[2]) >= NEVER then return -1 end
  return math.max(1, math.ceil((tonumber(first[2]) - clock()) / 1000))
end

-- allot shares out what waits: one by one, each to the membership with the greatest weight/(2*held+1). It answers how
-- many fall to each. Where the last ones could go to several, each of these may have one.
local function allot()
  local left = redis.call('LLEN', tasks)
  local list, most = {}, 0
  if left == 0 then return {} end
  local all = redis.call('HGETALL', shares)
  for i = 1, #all, 2 do
    local weight, limit = string.match(all[i + 1], '^(%d+) (%d+)')
    weight, limit = tonumber(weight or 0), tonumber(limit or 0)
    if weight > 0 then
      local held = spared('ZCARD', q .. ':processes:' .. all[i]) or math.huge -- nothing falls to one that cannot take
      if limit == 0 then limit = held + left end
      if held < limit then
        list[#list + 1] = {m = all[i], weight = weight, held = held, limit = limit}
        most = math.max(most, (2 * (held + left) + 1) / weight)
      end
    end
  end
  -- How many a membership has at a level: all k with (2k+1)/weight <= level.
  local function at(x, level)
    return math.max(x.held, math.min(x.limit, math.floor((x.weight * level + 1) / 2 + 1e-9)))
  end
  local function given(level)
    local n = 0
    for _, x in ipairs(list) do n = n + at(x, level) - x.held end
    return n
  end
  local low, high = 0, most
  if given(high) > left then
    for _ = 1, 60 do
      local mid = (low + high) / 2
      if given(mid) > left then high = mid else low = mid end
      if high - low < 1e-9 * high then break end
    end
    left = left - given(low)
  else
    low, left = high, 0
  end
  local out = {}
  for _, x in ipairs(list) do
    local n = at(x, low) - x.held
    if left > 0 and at(x, high) > at(x, low) then n = n + 1 end
    if n > 0 then out[x.m] = n end
  end
  return out
end

-- rouse wakes the memberships to which something falls. They are told, and told again at their next look.
local function rouse()
  for m, _ in pairs(allot()) do
    redis.call('PUBLISH', root .. ':wake:' .. string.match(m, '^(.*)%.'), 'wake ' .. queue)
  end
end

-- tidy lets nothing stay of a queue with no task, and gives its mark an end when nobody serves it either.
local function tidy()
  if redis.call('HLEN', holders) + redis.call('SCARD', unique) > 0 then return end
  redis.call('DEL', past, checkpoints, present, times, q .. ':offers')
  if redis.call('HLEN', q .. ':workers') == 0 then redis.call('PEXPIRE', q .. ':policy', DAY) end
end

-- ended forgets a task whose process has ended for good. One that was added again meanwhile waits from now on. The holder
-- goes when nothing else can be refused.
local function ended(fp, task)
  redis.call('HDEL', q .. ':offers', fp)
  local again = tonumber(redis.call('ZSCORE', delayed, task) or '0') >= NEVER
  if again then
    redis.call('LPUSH', tasks, task)
    redis.call('ZREM', delayed, task)
  elseif redis.call('SREM', unique, fp) == 1 then
    redis.call('LREM', tasks, -1, task) -- it was offered
  end
  redis.call('HDEL', holders, fp)
  redis.call('HDEL', past, fp)
  redis.call('HDEL', checkpoints, fp)
  if not again then redis.call('HDEL', present, fp) end
end

-- stop cancels a task: one that waits is gone now, one in hand ends with its process. Answers whether there was one.
local function stop(task)
  local fp = redis.sha1hex(task)
  local p = redis.call('HGET', holders, fp)
  local found = redis.call('SREM', unique, fp) == 1
  if found then
    if redis.call('ZREM', delayed, task) == 0 then redis.call('LREM', tasks, 0, task) end
    if not p then
      redis.call('HDEL', past, fp)
      redis.call('HDEL', checkpoints, fp)
      redis.call('HDEL', present, fp)
    end
  end
  if p then
    local m, number = string.match(p, '^(.*%.%d+)%.(%d+)$')
    local token = tonumber(spared('ZSCORE', q .. ':processes:' .. m, number) or '0')
    local before = redis.call('ZSCORE', q .. ':cancels', fp) -- its own: the mark of a deleted queue ends no process
    if not before or tonumber(before) < token then
      local mark = num(draw(1))
      redis.call('ZADD', q .. ':cancels', mark, fp)
      redis.call('PUBLISH', root .. ':' .. queue .. ':cancel', mark .. told(task, fp))
      found = true
    end
  end
  return found
end

-- letgo ends a process of membership m, and with it the hold of its task: why is 'finish'; 'cancel'; 'death'; 'later'; or 'drain',
-- 'rebalance', 'handover' and 'undo', which put the task at the front, the last as if it had not been taken. young: of a death, the token from which on a hold
-- was too short to be innocent of it; NEVER: of a lapse, which says nothing of the task. Answers 'done'; 'dropped' when it was cancelled;
-- or 'gone' when it was to be finished, and another process has the task.
local function letgo(m, number, task, token, why, marks, young)
  local key, fp = q .. ':process:' .. m .. '.' .. number, redis.sha1hex(task)
  if redis.call('HGET', holders, fp) ~= m .. '.' .. number then
    redis.call('DEL', key) -- another process has the task now: it was handed over before this one ended
    return why == 'finish' and 'gone' or 'done'
  end
  local ends = why == 'finish' or why == 'cancel'
  if ends or marks and cancelled(task, token) then
    ended(fp, task)
    redis.call('DEL', key)
    return ends and 'done' or 'dropped'
  end
  local _, _, fails, deaths = record(fp)
  local v, t = clock()
  if t - token > SETTLED then fails, deaths = 0, 0 end
  -- Refused half-way it is still held, or waits: it is among those that wait before it does, and its holder goes last.
  redis.call('HDEL', q .. ':offers', fp)
  if redis.call('SADD', unique, fp) == 0 then redis.call('LREM', tasks, -1, task) end -- it was offered, and waits already
  local wait = 0
  if why == 'later' then
    fails = fails + 1
    wait = math.min(SECOND / 10 * 2 ^ (fails - 1), 30 * SECOND)
  elseif why == 'death' and young < NEVER then
    if token < young then
      deaths = 0
    elseif deaths < 2 or redis.call('SET', q .. ':blamed:' .. m, '1', 'PX', 600000, 'NX') then
      -- Of those that are tried one by one, only the one that was begun last has killed. The newest come back first.
      deaths = deaths + 1
      if deaths > 2 then wait = math.min(60 * SECOND * 2 ^ (deaths - 3), 3600 * SECOND) end
    end
  end
  if why ~= 'undo' then redis.call('HSET', past, fp, (why == 'later' and 'returned' or why) .. ' ' .. num(token) .. ' ' .. num(fails) .. ' ' .. num(deaths)) end
  if wait > 0 then
    redis.call('ZADD', delayed, num(v + wait), task)
    redis.call('DEL', key)
  else
    redis.call('LMOVE', key, tasks, 'LEFT', 'RIGHT')
  end
  redis.call('HDEL', holders, fp)
  return 'done'
end

-- fence takes membership m out of its queue: from now on it takes and settles nothing, and what it holds is on its way back.
-- It writes first in a script. Answers whether m was a member, and whether the queue is persistent.
local function fence(m)
  local hold = persistent()
  redis.call('SREM', q .. ':idle', '') -- reads its type, and lets the next write pass on a full Redis
  redis.call('SCARD', q .. ':fast')
  redis.call('SCARD', q .. ':returning')
  redis.call('HLEN', q .. ':fates')
  redis.call('GET', q .. ':token')
  local held = redis.call('ZCARD', q .. ':processes:' .. m)
  if not member(m) then return false, hold end
  redis.call('HDEL', shares, m)
  redis.call('SREM', q .. ':idle', m)
  redis.call('SREM', q .. ':fast', m)
  close() -- a late copy of its open is known by this
  if held > 0 then redis.call('SADD', q .. ':returning', m) end
  redis.call('HDEL', q .. ':workers', m) -- the last: refused half-way, it is a member, and never nobody's
  return true, hold
end

-- blamed returns the token from which on a hold was too short to be innocent of the end of its worker, which lived at most
-- so many milliseconds ago. latest: the last token, before one is drawn here. After Redis's clock has stepped back a hold may
-- be older than its token says: nobody is blamed on the strength of it.
local function blamed(lived, latest)
  local _, t, step = clock()
  if latest > t + SECOND then return NEVER end
  return math.max(step, t - lived * 1000 - 1.5 * SECOND)
end
