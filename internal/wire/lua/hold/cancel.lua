-- cancel ends every copy of a task: a stored mark first, which holds whatever is told or lost, then the waiting copies,
-- then a hint to those who hold one. It names the copies in hand; where these are too many to look for in one step, the
-- caller lists them by held, and gives the hint by tell when it has.
--
-- ARGV[3]  the task
-- ARGV[4]  the answer of newest, read before the first copy of this call was sent
-- Returns  {waiting copies removed, the mark, '1' when all copies in hand are named and the hint was given, else '0',
--          process, token, ...}
-- Cost     O(waiting): one LREM, about 10 ms per million waiting; and O(in hand), of at most 2,000 processes, 500 members
--          and 16 MiB: up to 10 ms
-- Twice    a mark above ARGV[4] says that this cancel, or a later one, has run: nothing is done, and none is named.
local task = ARGV[3]
local fingerprint = redis.sha1hex(task)
local mark = redis.call('ZSCORE', q .. ':cancels', fingerprint)
if mark and tonumber(mark) > tonumber(ARGV[4]) then return {'0', num(tonumber(mark)), '0'} end
redis.call('GET', q .. ':token')
redis.call('LLEN', q .. ':tasks')
local members = redis.call('HLEN', q .. ':workers') + redis.call('SCARD', q .. ':returning')
local hold = persistent()

local out = {'', '', '1'}
local function name(p, token)
  out[#out + 1] = p
  out[#out + 1] = num(tonumber(token))
end

-- scan names the copies in hand, and answers whether it came to all of them.
local function scan()
  if members > 500 then return false end
  local pages, left, bytes = {}, 2000, 16777216
  for _, list in ipairs({redis.call('HKEYS', q .. ':workers'), redis.call('SMEMBERS', q .. ':returning')}) do
    for _, m in ipairs(list) do
      left = left - redis.call('ZCARD', q .. ':processes:' .. m)
      if left < 0 then return false end
      pages[#pages + 1] = m
    end
  end
  for _, m in ipairs(pages) do
    local page = redis.call('ZRANGE', q .. ':processes:' .. m, 0, -1, 'WITHSCORES')
    for i = 1, #page, 2 do
      local p = m .. '.' .. page[i]
      local held = redis.pcall('LINDEX', q .. ':process:' .. p, 0) -- somebody may have overwritten it by hand
      if held == task then name(p, page[i + 1]) end
      bytes = bytes - (type(held) == 'string' and #held or 0)
      if bytes < 0 then return false end
    end
  end
  return true
end

if hold then -- its holder, and the one before, which goes on until that one has begun
  local seen
  for _, key in ipairs({holders, q .. ':offers'}) do
    local p = redis.call('HGET', key, fingerprint)
    local m, number = string.match(p or '', '^(.*%.%d+)%.(%d+)$')
    local token = m and p ~= seen and redis.call('ZSCORE', q .. ':processes:' .. m, number)
    if token then name(p, token) end
    seen = p or seen
  end
elseif not scan() then
  out = {'', '', '0'}
end

redis.call('ZREM', q .. ':cancels', '') -- lets the next write pass on a full Redis
local token = num(draw(1))
redis.call('ZADD', q .. ':cancels', token, fingerprint)
settleMarks()
local n = redis.call('LREM', q .. ':tasks', 0, task)
if hold and redis.call('SREM', unique, fingerprint) == 1 then
  n = math.max(1, n + redis.call('ZREM', delayed, task))
  if redis.call('HEXISTS', holders, fingerprint) == 0 then
    redis.call('HDEL', past, fingerprint)
    redis.call('HDEL', checkpoints, fingerprint)
    redis.call('HDEL', present, fingerprint)
  end
  tidy()
end
if out[3] == '1' then redis.call('PUBLISH', root .. ':' .. queue .. ':cancel', token .. told(task, fingerprint)) end
out[1], out[2] = num(n), token
return out
