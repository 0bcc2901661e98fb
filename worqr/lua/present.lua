-- present lists a page of the tasks of a persistent queue.
--
-- ARGV[3]  'held', 'delayed' or 'waiting'
-- ARGV[4]  cursor, '0' at first: it counts the waiting ones
-- Returns  {next cursor or '0', task, ...}
-- Cost     O(500)
local out = {'0'}
if ARGV[3] == 'waiting' then
  local from = tonumber(ARGV[4])
  local page = redis.call('LRANGE', q .. ':tasks', from, from + 499)
  for _, task in ipairs(page) do out[#out + 1] = task end
  if #page == 500 then out[1] = num(from + 500) end
elseif ARGV[3] == 'delayed' then
  local page = redis.call('ZSCAN', q .. ':delayed', ARGV[4], 'COUNT', 500)
  out[1] = page[1]
  for i = 1, #page[2], 2 do out[#out + 1] = page[2][i] end
else
  local page = redis.call('HSCAN', q .. ':holders', ARGV[4], 'COUNT', 500)
  out[1] = page[1]
  for i = 2, #page[2], 2 do
    local task = redis.pcall('LINDEX', q .. ':process:' .. page[2][i], 0)
    if type(task) == 'string' then out[#out + 1] = task end
  end
end
return out
