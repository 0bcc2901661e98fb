-- rescue takes a membership out of its queue whose worker is not present any more, before its heartbeat has lapsed. What it
-- held then returns by reclaim. It checks again what the watcher saw.
--
-- ARGV[3]  M
-- ARGV[4]  the key of the worker's heartbeat, in the mesh's slot: there is no rescue in a cluster
-- ARGV[5]  when the heartbeat ends, as the watcher saw it first: microseconds of Redis's clock
-- ARGV[6]  how long ago in milliseconds the worker can have lived at most, as reclaim is told of a death. It is a lapse when
--          the worker still listens: then only its presence connection was lost
-- Returns  'OK'; 'ALIVE': it is present, or has beaten since, or the server may not tell; 'STRICT': the membership waits for
--          the lapse; 'GONE': no member
-- Cost     O(1)
-- Twice    GONE.
local m = ARGV[3]
if not member(m) then return 'GONE' end
if redis.call('SISMEMBER', q .. ':fast', m) == 0 then return 'STRICT' end
local seen = redis.pcall('PUBSUB', 'NUMSUB', root .. ':here:' .. string.match(m, '^(.*)%.'))
local left = redis.call('PTTL', ARGV[4])
if seen.err or seen[2] > 0 or left > 0 and math.abs(now() + left * 1000 - tonumber(ARGV[5])) > 5000 then return 'ALIVE' end
local listens = redis.pcall('PUBSUB', 'NUMSUB', root .. ':wake:' .. string.match(m, '^(.*)%.'))
local latest = tonumber(redis.call('GET', q .. ':token') or '0') -- before one is drawn here
local _, hold = fence(m)
if hold and redis.call('SISMEMBER', q .. ':returning', m) == 1 then
  local from = (listens.err or listens[2] > 0 or not ARGV[6]) and NEVER or blamed(ARGV[6], latest)
  redis.call('HSETNX', q .. ':fates', m, 'death ' .. num(from))
end
return 'OK'
