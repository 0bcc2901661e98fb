-- sweep looks at the heartbeats of a page of workers: a round is all its pages. A heartbeat with more than T to live
-- (the clock was set back, or somebody made it persist) is cut down to T, and so is what was claimed for a while.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  W, the sweeper
-- ARGV[3]  T in milliseconds
-- ARGV[4]  cursor, '0' at first
-- ARGV[5]  for how many milliseconds to claim the round, unless a beat did so, '0' to look without a claim
-- ARGV[6]  for how many milliseconds to claim the turn of the rota
-- Returns  {clock in microseconds, run id or '', '1' when claimed or not asked to, next cursor, workers registered,
--          the queue whose turn it is or '', the field `notes` of the mesh, worker without a heartbeat, '1' when
--          failed by hand, '1' when it was seen to live on: it has joined again, or listens, ...}
-- Cost     O(500)
-- Twice    looks twice; a claim of a late copy delays the next round by as long as it lasts.
local p, w, lapse, cursor, claim = KEYS[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local t = redis.call('TIME')
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
local out = {string.format('%.0f', tonumber(t[1]) * 1000000 + tonumber(t[2])), run, '1', '0', '0', '', '0'}

redis.call('SCARD', p .. ':queues')
redis.call('HLEN', p .. ':mesh')
redis.call('SREM', p .. ':workers', '') -- lets the next write pass on a full Redis
local function cut(key, most)
  if redis.call('PTTL', key) > most then redis.call('PEXPIRE', key, string.format('%d', most)) end
end
if cursor == '0' then
  cut(p .. ':sweep', math.floor(lapse / 3)) -- whoever claims one of these two does so for less
  cut(p .. ':rota', math.floor(lapse / 3))
  cut(p .. ':watch', 2000) -- these last 0.4 s and 1.2 s; beats do not see it when both are those of dead workers
  cut(p .. ':deputy', 2000)
end
if claim ~= '0' and cursor == '0' and not redis.call('SET', p .. ':sweep', w, 'PX', claim, 'NX')
  and redis.call('GET', p .. ':sweep') ~= w then
  out[3] = '0'
  return out
end

local page = redis.call('SSCAN', p .. ':workers', cursor, 'COUNT', 500)
out[4] = page[1]
out[5] = string.format('%.0f', redis.call('SCARD', p .. ':workers'))
for _, id in ipairs(page[2]) do
  local left = redis.call('PTTL', p .. ':worker:' .. id)
  if left == -2 then
    local told = p .. ':info:' .. id
    -- pcall: an info that somebody overwrote by hand must not keep what is dead; whether it was failed by hand is in doubt
    if redis.pcall('HSETNX', told, 'lapsed', out[1]) == 1 then
      redis.call('PUBLISH', ARGV[1] .. ':mesh', 'lapsed ' .. id)
    end
    out[#out + 1] = id
    out[#out + 1] = redis.pcall('HEXISTS', told, 'failed') == 0 and '0' or '1'
    local listens = redis.pcall('PUBSUB', 'NUMSUB', ARGV[1] .. ':wake:' .. id) -- a missing right: not seen
    local seen = redis.pcall('HEXISTS', told, 'heir') == 1 or not listens.err and listens[2] > 0
    out[#out + 1] = seen and '1' or '0'
  elseif left < 0 or left > lapse then
    redis.call('PEXPIRE', p .. ':worker:' .. id, ARGV[3])
  end
end

-- The rota: one queue a round, in turn. Peers take turns at rounds, so the place is kept here: a cursor, and the last
-- name within its page, as small sets come whole, whatever COUNT says.
-- Doubt is no reason to leave it out, so it has a claim of its own: nothing in it is judged by time.
if cursor == '0' and redis.call('SET', p .. ':rota', w, 'PX', ARGV[6], 'NX') then
  local at = redis.call('HMGET', p .. ':mesh', 'rota', 'rotaqueue', 'notes')
  local c, last = at[1] or '0', at[2] or ''
  out[7] = at[3] or '0'
  for _ = 1, 10 do
    local names = redis.call('SSCAN', p .. ':queues', c, 'COUNT', 10)
    table.sort(names[2])
    for _, name in ipairs(names[2]) do
      if name > last then out[6] = name break end
    end
    if out[6] ~= '' then last = out[6] break end
    c, last = names[1], ''
  end
  redis.call('HSET', p .. ':mesh', 'rota', c, 'rotaqueue', last)
end
return out
