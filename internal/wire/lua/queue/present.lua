-- present lists a page of the tasks of a persistent queue: what is present from the first page to the last one is on one
-- of them, wherever it moves meanwhile. What waits since before the queue was persistent is not.
--
-- ARGV[3]  cursor, '0' at first
-- Returns  {next cursor or '0', task, ...}
-- Cost     O(500)
local page = redis.call('HSCAN', q .. ':present', ARGV[3], 'COUNT', 500)
local out = {page[1]}
for i = 2, #page[2], 2 do out[#out + 1] = page[2][i] end
return out
