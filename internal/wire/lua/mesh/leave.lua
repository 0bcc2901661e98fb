-- leave ends the registration of a worker, after all its memberships were closed or reclaimed.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  W
-- ARGV[3]  'left' by the worker itself, 'reclaimed' by a peer
-- Returns  1 when it was registered
-- Errors   ALIVE  a peer asked, and W has a heartbeat
-- Cost     O(queues that W served)
-- Twice    removes and tells nothing more.
local p, w = KEYS[1], ARGV[2]
if ARGV[3] == 'reclaimed' and redis.call('EXISTS', p .. ':worker:' .. w) == 1 then
  return {err = 'ALIVE this worker has a heartbeat'}
end
local n = redis.call('SREM', p .. ':workers', w)
redis.pcall('SREM', p .. ':present', w) -- whatever its type: only takeover depends on it
for _, part in ipairs({':watch', ':deputy'}) do
  if redis.pcall('GET', p .. part) == w then redis.call('DEL', p .. part) end
end
redis.call('DEL', p .. ':worker:' .. w, p .. ':workmap:' .. w, p .. ':info:' .. w)
if n == 1 then redis.call('PUBLISH', ARGV[1] .. ':mesh', ARGV[3] .. ' ' .. w) end
return n
