-- rescue takes a membership out of its queue whose worker is not present any more, before its heartbeat has lapsed. What it
-- held then returns by reclaim. It checks again what the watcher saw.
--
-- ARGV[3]  M
-- ARGV[4]  the key of the worker's heartbeat, in the mesh's slot: there is no rescue in a cluster
-- ARGV[5]  when the heartbeat ends, as the watcher saw it first: microseconds of Redis's clock
-- Returns  'OK'; 'ALIVE': it is present, or has beaten since; 'STRICT': the membership waits for the lapse; 'GONE': no member
-- Cost     O(1)
-- Twice    GONE.
local m = ARGV[3]
if redis.call('HEXISTS', q .. ':workers', m) == 0 then return 'GONE' end
if redis.call('SISMEMBER', q .. ':fast', m) == 0 then return 'STRICT' end
local seen = redis.call('PUBSUB', 'NUMSUB', root .. ':here:' .. string.match(m, '^(.*)%.'))
local left = redis.call('PTTL', ARGV[4])
if seen[2] > 0 or left > 0 and math.abs(now() + left * 1000 - tonumber(ARGV[5])) > 5000 then return 'ALIVE' end
local held = redis.call('ZCARD', q .. ':processes:' .. m)
redis.call('SCARD', q .. ':idle')
redis.call('SCARD', q .. ':returning')
redis.call('GET', q .. ':token')
redis.call('HDEL', q .. ':workers', m)
redis.call('SREM', q .. ':idle', m)
redis.call('SREM', q .. ':fast', m)
redis.call('HDEL', q .. ':shares', m)
close() -- a late copy of its open is known by this
if held > 0 then redis.call('SADD', q .. ':returning', m) end
return 'OK'
