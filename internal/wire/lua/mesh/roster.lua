-- roster lists a page of the registered workers. It changes nothing.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  cursor, '0' at first
-- Returns  {next cursor, W, milliseconds its heartbeat has left (-2: lapsed), {field, value, ...}, W, ...}
-- Cost     O(500)
local p = KEYS[1]
local page = redis.call('SSCAN', p .. ':workers', ARGV[2], 'COUNT', 500)
local out = {page[1]}
for _, id in ipairs(page[2]) do
  out[#out + 1] = id
  out[#out + 1] = string.format('%.0f', redis.call('PTTL', p .. ':worker:' .. id))
  out[#out + 1] = redis.call('HGETALL', p .. ':info:' .. id)
end
return out
