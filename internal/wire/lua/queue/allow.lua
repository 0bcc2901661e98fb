-- allow lets peers take over from a membership as soon as its worker is not present. Called by that worker, which heeds the loss
-- of its presence in this membership from before the first call on.
--
-- ARGV[3]  M
-- Returns  'OK'
-- Errors   FENCED  M is no member
-- Cost     O(1)
-- Twice    is the same.
local m = ARGV[3]
if not member(m) then return FENCED end
redis.call('SREM', q .. ':fast', '') -- lets the next write pass on a full Redis
redis.call('SADD', q .. ':fast', m)
return 'OK'
