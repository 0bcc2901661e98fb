-- Prelude of every script that works on one queue.
--
-- KEYS[1]  ns:{Q}   the queue's whole prefix: every key below it is in one slot
-- ARGV[1]  ns@db    the root of the channels
-- ARGV[2]  Q        the queue's name, told to whoever is woken
--
-- Numbers leave Lua through num() only: `..` and tostring turn a token into 1.79e+15, and take twice as long; as an
-- argument Redis 7.2.0 to 7.2.4 writes 1e+8.
-- A full Redis refuses SET, HSET, LMOVE, ZADD and SADD as the first write of a script, and allows them after a
-- ZREM, SREM or DEL, also of something absent. So each script that must work then begins with such a write.

local q, root, queue = KEYS[1], ARGV[1], ARGV[2]

local DAY, TWO_DAYS = 86400000, '172800000' -- milliseconds

-- What a script returns that is for members only, and is asked by one that was taken out.
local FENCED = {err = 'FENCED this membership is no longer in the queue'}

local function member(m) return redis.call('HEXISTS', q .. ':workers', m) == 1 end

-- num writes a whole number. %d is three times as fast as %.0f, and on a 32-bit server has 31 bits.
local format, fmod = string.format, math.fmod
local function num(x)
  if x < 1e9 then return format('%d', x) end
  local low = fmod(x, 1e9)
  return format('%d%09d', (x - low) / 1e9, low)
end

-- rising answers a function that writes x, then x + 1, and so on: nine of ten by a concatenation, a third of what num takes.
local digits = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9'}
local function rising(x)
  local unit = fmod(x, 10)
  local tens = (x - unit) / 10
  local head = tens > 0 and num(tens) or ''
  return function()
    if unit == 10 then
      unit, tens = 0, tens + 1
      head = num(tens)
    end
    unit = unit + 1
    return head .. digits[unit]
  end
end

-- now answers Redis's clock in microseconds.
local function now()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- spared runs a command on a key that somebody may have overwritten by hand: nil then. Any other refusal, of a right say, is
-- an error as ever.
local function spared(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then redis.call(...) end -- raises it
end

-- draw answers the first of n fencing tokens that no one has drawn before. They rise even when Redis lost the last
-- one, because none is below the clock. The key ends two days after the last draw. latest: the last token, if it was read.
local function draw(n, latest)
  local first = math.max((latest or tonumber(redis.call('GET', q .. ':token') or '0')) + 1, now())
  redis.call('SET', q .. ':token', num(first + n - 1), 'PX', TWO_DAYS)
  return first
end

-- close makes every ticket stale that open was given before.
local function close()
  redis.call('SET', q .. ':closed', num(draw(1)), 'PX', TWO_DAYS)
end

-- newest answers the score of the newest cancel mark, 0 without one.
local function newest()
  if redis.call('EXISTS', q .. ':cancels') == 0 then return 0 end
  return tonumber(redis.call('ZREVRANGE', q .. ':cancels', 0, 0, 'WITHSCORES')[2] or '0')
end

-- withMarks appends the cancel marks above one, the oldest first, 500 at the most.
local function withMarks(out, above)
  local marks = redis.call('ZRANGEBYSCORE', q .. ':cancels', '(' .. above, '+inf', 'WITHSCORES', 'LIMIT', 0, 500)
  for i = 1, #marks, 2 do
    out[#out + 1] = marks[i]
    out[#out + 1] = num(tonumber(marks[i + 1]))
  end
  return out
end

-- cancelled tells whether a task that was taken under this token was cancelled, or its queue deleted, since.
local function cancelled(task, token)
  local mark = redis.call('ZSCORE', q .. ':cancels', '*')
  if mark and token <= tonumber(mark) then return true end
  mark = redis.call('ZSCORE', q .. ':cancels', redis.sha1hex(task))
  return mark and token <= tonumber(mark)
end

-- wake tells up to n idle memberships that tasks wait. One that nobody listens for is passed over, 32 at the most:
-- its worker finds the tasks at its next look.
local function wake(n)
  local woken, passed = 0, 0
  while woken < n and passed < 32 do
    local m = redis.call('SPOP', q .. ':idle')
    if not m then break end
    if redis.call('PUBLISH', root .. ':wake:' .. string.match(m, '^(.*)%.'), 'wake ' .. queue) > 0 then
      woken = woken + 1
    else
      passed = passed + 1
    end
  end
  return woken
end

-- announce publishes that n more tasks wait, and wakes one idle membership for each.
local function announce(n)
  if n == 0 then return end
  redis.call('PUBLISH', root .. ':' .. queue .. ':work', num(n))
  wake(n)
end

-- checkReturning reads the type of what putback will move. Called before the first write.
local function checkReturning()
  for _, m in ipairs(redis.call('SMEMBERS', q .. ':returning')) do redis.call('ZCARD', q .. ':processes:' .. m) end
end

-- putback moves processes of the returning memberships to the front, the newest token first over all of them, so that
-- the front is in the order in which they were taken. At most `budget` processes of at most 64 memberships.
-- A cancelled one is dropped. A membership with nothing left is no longer returning. let, or none: what ends a process of
-- a persistent queue in place of that. Answers how many went back and how many were dropped. All reads of a type come
-- before the first write.
local function putback(budget, let)
  local ms = redis.call('SRANDMEMBER', q .. ':returning', 64)
  if #ms == 0 then return 0, 0 end
  local size = math.max(8, math.ceil(budget / #ms))
  local pages, at = {}, {}
  local function turn(i)
    pages[i] = redis.call('ZREVRANGE', q .. ':processes:' .. ms[i], 0, size - 1, 'WITHSCORES')
    at[i] = 1
  end
  for i = 1, #ms do turn(i) end
  redis.call('LLEN', q .. ':tasks')
  local marks = newest() > 0
  local back, dropped = 0, 0
  for _ = 1, budget do
    local best, score = nil, -1
    for i = 1, #ms do
      local s = tonumber(pages[i][at[i] + 1] or '-1')
      if s > score then best, score = i, s end
    end
    if not best then break end
    local number = pages[best][at[best]]
    local key = q .. ':process:' .. ms[best] .. '.' .. number
    local task = (marks or let) and spared('LINDEX', key, 0)
    if let and type(task) == 'string' then
      if let(ms[best], number, task, score, marks) == 'dropped' then dropped = dropped + 1 else back = back + 1 end
    elseif marks and type(task) == 'string' and cancelled(task, score) then
      redis.call('DEL', key)
      dropped = dropped + 1
    else
      -- a key that somebody overwrote by hand must not block what stands behind it
      if spared('LMOVE', key, q .. ':tasks', 'LEFT', 'RIGHT') then back = back + 1 end
    end
    redis.call('ZREM', q .. ':processes:' .. ms[best], number) -- the last: refused half-way, it is found again
    at[best] = at[best] + 2
    if not pages[best][at[best]] then turn(best) end
  end
  for i = 1, #ms do
    if not pages[i][at[i]] then redis.call('SREM', q .. ':returning', ms[i]) end
  end
  return back, dropped
end

-- settleMarks gives the marks an end when nobody is left whom they could concern, and none while somebody is.
local function settleMarks()
  if redis.call('HLEN', q .. ':workers') + redis.call('SCARD', q .. ':returning') == 0 then
    redis.call('PEXPIRE', q .. ':cancels', DAY)
  else
    redis.call('PERSIST', q .. ':cancels')
  end
end

-- named counts the processes in the runs that settle is told.
local function named(runs)
  local n = 0
  for count in string.gmatch(runs, '%d+ %d+ (%d+) %a+') do n = n + tonumber(count) end
  return n
end

-- told writes what an event says of a task, behind the rest: a line feed and the task; of one above 4096 bytes its size
-- before, with the fingerprint when it is known, and its beginning: many events of big tasks overflow what Redis keeps for
-- a subscriber.
local function told(task, fingerprint)
  if #task <= 4096 then return '\n' .. task end
  return ' ' .. num(#task) .. (fingerprint and ' ' .. fingerprint or '') .. '\n' .. string.sub(task, 1, 4096)
end

-- settle ends processes of a member, as settle.lua says. The caller has read the type of all that it writes, and tells
-- whether there are cancel marks.
local function settle(m, runs, marks)
  local prefix, mine = q .. ':process:' .. m .. '.', q .. ':processes:' .. m
  local out, back = {}, 0
  local worker = string.match(m, '^(.*)%.') .. ' ' .. m .. '.'

  -- What is done is said until nobody hears it. Where there is a cluster or a replica a count of 0 does not tell that.
  local heard, alone = true, nil
  local function info(section, line)
    local text = redis.pcall('INFO', section)
    return type(text) == 'string' and string.find(text, line, 1, true) ~= nil
  end
  local function silent()
    if heard then return false end
    if alone == nil then alone = info('cluster', 'cluster_enabled:0') and info('replication', 'connected_slaves:0') end
    return alone
  end

  -- one ends a process that is in hand.
  local function one(number, token, outcome)
    local key = prefix .. number
    local task = redis.pcall('LINDEX', key, 0)
    if type(task) ~= 'string' then -- it was removed by hand, or overwritten
      spared('LINDEX', key, 0)
      redis.call('ZREM', mine, number)
      return 'gone'
    end
    -- The number goes last: refused half-way, the process is found again.
    if outcome == 'finish' or outcome == 'cancel' then
      redis.call('DEL', key)
      redis.call('ZREM', mine, number)
      if outcome == 'finish' and not silent() then
        -- pcall: a missing right to the channel must not stop what is true
        local n = redis.pcall('PUBLISH', root .. ':' .. queue .. ':done', worker .. number .. ' ' .. num(token) .. told(task))
        heard = type(n) ~= 'number' or n > 0
      end
      return 'done'
    elseif marks and cancelled(task, token) then
      redis.call('DEL', key)
      redis.call('ZREM', mine, number)
      return 'dropped'
    end
    redis.call('LMOVE', key, q .. ':tasks', 'LEFT', outcome == 'front' and 'RIGHT' or 'LEFT')
    redis.call('ZREM', mine, number)
    back = back + 1
    return 'done'
  end

  for first, token, count, outcome in string.gmatch(runs, '(%d+) (%d+) (%d+) (%a+)') do
    first, token, count = tonumber(first), tonumber(token), tonumber(count)
    -- Numbers and tokens rise together: as many members as tokens, from the first number to the last, have exactly these.
    local whole = count > 0 and redis.call('ZCOUNT', mine, num(token), num(token + count - 1)) == count
      and tonumber(redis.call('ZSCORE', mine, num(first)) or '0') == token
      and tonumber(redis.call('ZSCORE', mine, num(first + count - 1)) or '0') == token + count - 1
    local keys = {}
    if whole then
      local number = rising(first)
      for i = 1, count do keys[i] = prefix .. number() end
    end
    local at, begin = #out, 0
    if whole and outcome == 'finish' then
      if not silent() then
        out[at + 1] = one(num(first), token, outcome)
        begin = 1
      end
      if begin < count and silent() and redis.call('EXISTS', unpack(keys, begin + 1)) == count - begin then
        redis.call('DEL', unpack(keys, begin + 1))
        redis.call('ZREMRANGEBYSCORE', mine, num(token + begin), num(token + count - 1))
        for i = begin + 1, count do out[at + i] = 'done' end
        begin = count
      end
    end
    local from, to, step = begin, count - 1, 1
    if outcome == 'front' then from, to, step = to, from, -1 end
    for i = from, to, step do
      local number = num(first + i)
      local there = whole or tonumber(redis.call('ZSCORE', mine, number) or '-1') == token + i
      out[at + i + 1] = there and one(number, token + i, outcome) or 'gone'
    end
  end
  announce(back)
  return table.concat(out, ' ')
end
