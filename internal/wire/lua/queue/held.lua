-- held lists processes of one membership, oldest token first. It changes nothing.
--
-- ARGV[3]  M
-- ARGV[4]  the token after which to begin, '0' at first
-- ARGV[5]  how many to look at, 500 at the most
-- ARGV[6]  '': all, without their tasks; '*': all; else only copies of the task with this fingerprint
-- Returns  {token to go on after, or '' at the end, process, token, task, ...}
-- Cost     O(ARGV[5])
local mine, want, limit = q .. ':processes:' .. ARGV[3], ARGV[6], tonumber(ARGV[5])
local page = redis.call('ZRANGEBYSCORE', mine, '(' .. ARGV[4], '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
local out = {''}
for i = 1, #page, 2 do
  local p, token = ARGV[3] .. '.' .. page[i], num(tonumber(page[i + 1]))
  local task = want ~= '' and redis.pcall('LINDEX', q .. ':process:' .. p, 0) or ''
  if type(task) ~= 'string' then task = '' end -- somebody overwrote the key by hand
  if want == '' or want == '*' or redis.sha1hex(task) == want then
    out[#out + 1] = p
    out[#out + 1] = token
    out[#out + 1] = task
  end
  if #page == 2 * limit then out[1] = token end
end
return out
