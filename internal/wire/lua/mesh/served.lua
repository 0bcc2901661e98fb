-- served tells of members of a queue whether their worker's workmap has it: asked after audit has listed them. One
-- whose worker does not serve the queue has no owner.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  Q
-- ARGV[3..]  ids of workers, 500 at the most
-- Returns  1 or 0 for each
-- Cost     O(workers asked)
local out = {}
for i = 3, #ARGV do out[#out + 1] = redis.call('SISMEMBER', KEYS[1] .. ':workmap:' .. ARGV[i], ARGV[2]) end
return out
