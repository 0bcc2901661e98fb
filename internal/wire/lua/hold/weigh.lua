-- weigh changes the weight of a membership in a persistent queue. At 0 nothing more falls to it.
--
-- ARGV[3]  M
-- ARGV[4]  weight
-- Returns  how many processes M holds
-- Errors   FENCED  M is no member
-- Cost     O(members)
-- Twice    is the same.
local m = ARGV[3]
if not member(m) then return FENCED end
persistent()
local held = redis.call('ZCARD', q .. ':processes:' .. m)
local share = redis.call('HGET', shares, m)
redis.call('HDEL', shares, '') -- lets the next write pass on a full Redis
if share then redis.call('HSET', shares, m, ARGV[4] .. string.match(share, '^%d+(.*)$')) end
rouse()
return held
