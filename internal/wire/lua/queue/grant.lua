-- grant tells memberships of a persistent queue to give up tasks. What is not heard the next round tells again.
--
-- ARGV[3]    when the budget of moves is full again, in microseconds of Redis's clock
-- ARGV[4..]  M, how many, how many it holds then, ...; or nothing: the budget is empty, and its date lay too far ahead
-- Returns    'OK'
-- Cost       O(memberships)
-- Twice      tells twice; a holder goes by how many it holds then.
redis.call('HLEN', q .. ':workers')
redis.call('HDEL', q .. ':policy', '') -- lets the next write pass on a full Redis
redis.call('HSET', q .. ':policy', 'full', ARGV[3])
for i = 4, #ARGV, 3 do
  local m = ARGV[i]
  if member(m) then
    redis.call('PUBLISH', root .. ':wake:' .. string.match(m, '^(.*)%.'),
      'give ' .. ARGV[i + 1] .. ' ' .. ARGV[i + 2] .. ' ' .. queue)
  end
end
return 'OK'
