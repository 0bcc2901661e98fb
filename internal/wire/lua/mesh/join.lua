-- join registers a worker and starts its heartbeat.
--
-- KEYS[1]  {ns}     the mesh's whole prefix
-- ARGV[1]  ns@db    the root of the channels
-- ARGV[2]  W        a fresh id, never used before
-- ARGV[3]  T        the lapse in milliseconds
-- ARGV[4]  the protocol version
-- ARGV[5]  the worker that this daemon was before it lapsed, or '': peers are told that the daemon lives on
-- ARGV[6], ARGV[7], ...  pairs: what `info` holds
-- Returns  Redis's clock in microseconds
-- Errors   CONFIG  the mesh has another protocol version, or another T while a worker may trust its heartbeat
--          LOST    W was registered and its heartbeat is gone: take a new id
-- Cost     O(1), O(workers) when T is another one. CONFIG may have cut down a date of `failed` that lay ahead
-- Twice    renews the heartbeat.
local p, w, lapse, protocol = KEYS[1], ARGV[2], ARGV[3], ARGV[4]
local mesh = redis.call('HMGET', p .. ':mesh', 'protocol', 'lapse')
if mesh[1] and mesh[1] ~= protocol then
  return {err = 'CONFIG Protocol: the mesh speaks version ' .. mesh[1] .. ', this worker ' .. protocol}
end
redis.call('HLEN', p .. ':info:' .. w)
local registered = redis.call('SISMEMBER', p .. ':workers', w) == 1
local t = redis.call('TIME')
if mesh[2] and mesh[2] ~= lapse then
  for _, id in ipairs(redis.call('SMEMBERS', p .. ':workers')) do
    -- it may still trust a beat: its heartbeat is there, or was taken away by hand a short while ago
    local failed = redis.call('HGET', p .. ':info:' .. id, 'failed')
    if failed and tonumber(failed) > tonumber(t[1]) then -- Redis's clock was set back since
      failed = t[1]
      redis.call('HDEL', p .. ':info:' .. id, '') -- lets the next write pass on a full Redis
      redis.call('HSET', p .. ':info:' .. id, 'failed', failed)
    end
    if redis.call('EXISTS', p .. ':worker:' .. id) == 1
      or failed and tonumber(t[1]) - tonumber(failed) <= tonumber(mesh[2]) / 1000 + 1 then
      return {err = 'CONFIG Lapse: the mesh has ' .. mesh[2] .. ' ms, this worker ' .. lapse .. ' ms'}
    end
  end
end
if registered and redis.call('EXISTS', p .. ':worker:' .. w) == 0 then
  return {err = 'LOST this worker was registered and has lapsed'}
end
local time = string.format('%.0f', tonumber(t[1]) * 1000000 + tonumber(t[2]))
redis.call('SREM', p .. ':workers', '') -- lets the next write pass on a full Redis
redis.call('HSET', p .. ':mesh', 'protocol', protocol, 'lapse', lapse)
redis.call('SET', p .. ':worker:' .. w, 'RUN', 'PX', lapse)
if (ARGV[5] or '') ~= '' and redis.call('SISMEMBER', p .. ':workers', ARGV[5]) == 1 then
  redis.pcall('HSET', p .. ':info:' .. ARGV[5], 'heir', w) -- whatever its type: only blame depends on it
end
if not registered then
  redis.call('SADD', p .. ':workers', w)
  redis.call('HSET', p .. ':info:' .. w, 'started', time, unpack(ARGV, 6))
  redis.call('PUBLISH', ARGV[1] .. ':mesh', 'joined ' .. w)
end
return time
