-- audit tells who is in a queue. It changes nothing.
--
-- ARGV[3]  cursor, '0' at first
-- Returns  {next cursor, waiting tasks, cancel marks, oldest token in hand of these memberships ('0' when none; only
--          read when there are marks), M, 'member' or 'returning', processes in hand, M, ...}; the returning ones come
--          on the last page: who moves there meanwhile is on one of the two
-- Cost     O(500)
local cancels = redis.call('ZCARD', q .. ':cancels')
local page = redis.call('HSCAN', q .. ':workers', ARGV[3], 'COUNT', 500)
local out = {page[1], num(redis.call('LLEN', q .. ':tasks')), num(cancels), '0'}
local oldest
local function list(m, state)
  out[#out + 1] = m
  out[#out + 1] = state
  out[#out + 1] = num(redis.call('ZCARD', q .. ':processes:' .. m))
  if cancels > 0 then
    local token = tonumber(redis.call('ZRANGE', q .. ':processes:' .. m, 0, 0, 'WITHSCORES')[2])
    if token and (not oldest or token < oldest) then oldest = token end
  end
end
for i = 1, #page[2], 2 do list(page[2][i], 'member') end
if page[1] == '0' then
  for _, m in ipairs(redis.call('SMEMBERS', q .. ':returning')) do list(m, 'returning') end
end
if oldest then out[4] = num(oldest) end
return out
