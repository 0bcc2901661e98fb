-- check tries every command that the other scripts use, on scratch keys, so that a missing right or an old server is
-- found at the start and not in the middle of a script. Lua is isolated, but not rolled back. INFO and PUBSUB are not
-- tried: the mesh works without them.
--
-- KEYS[1]  a scratch prefix in the namespace, once in the mesh's slot and once in that of a queue
-- ARGV[1]  the channel to publish on
-- Returns  '' or the first error
-- Cost     O(1)
local p = KEYS[1]
local s, h, z, l, m = p .. ':s', p .. ':h', p .. ':z', p .. ':l', p .. ':m'
local calls = {
  {'DEL', s, h, z, l, m}, -- also lets the next writes pass on a full Redis
  {'SADD', s, 'a', 'b'}, {'SCARD', s}, {'SISMEMBER', s, 'a'}, {'SMEMBERS', s}, {'SRANDMEMBER', s, 1},
  {'SSCAN', s, 0, 'COUNT', 1}, {'SREM', s, 'a'}, {'SPOP', s},
  {'HSET', h, 'a', '1'}, {'HSETNX', h, 'a', '1'}, {'HGET', h, 'a'}, {'HMGET', h, 'a'}, {'HGETALL', h},
  {'HEXISTS', h, 'a'}, {'HKEYS', h}, {'HLEN', h}, {'HSCAN', h, 0, 'COUNT', 1}, {'HDEL', h, 'a'}, {'HINCRBY', h, 'n', 1},
  {'ZADD', z, '1', 'a'}, {'ZCARD', z}, {'ZCOUNT', z, 0, 1}, {'ZSCORE', z, 'a'}, {'ZRANGE', z, 0, 0},
  {'ZREVRANGE', z, 0, 0}, {'ZRANGEBYSCORE', z, '-inf', '+inf', 'LIMIT', 0, 1}, {'ZREMRANGEBYSCORE', z, '-inf', '(0'}, {'ZREM', z, 'a'},
  {'LPUSH', l, 'a', 'b'}, {'RPUSH', l, 'c', 'd'}, {'RPOP', l}, {'LLEN', l}, {'LINDEX', l, 0}, {'LMOVE', l, m, 'RIGHT', 'LEFT'}, {'LREM', m, 0, 'a'}, {'LRANGE', l, 0, 0},
  {'SET', s, 'a', 'PX', '1000'}, {'GET', s}, {'EXISTS', s}, {'PTTL', s}, {'PEXPIRE', s, '1000'}, {'PERSIST', s},
  {'UNLINK', s}, {'PING'}, {'TIME'}, {'PUBLISH', ARGV[1], ''}, {'DEL', s, h, z, l, m},
}
for _, call in ipairs(calls) do
  local r = redis.pcall(unpack(call))
  if type(r) == 'table' and r.err then
    redis.pcall('DEL', s, h, z, l, m)
    return call[1] .. ': ' .. r.err
  end
end
return ''
