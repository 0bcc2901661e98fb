-- checkpoint keeps data for the next holders of persistent tasks. What is older than what is kept has no effect.
--
-- ARGV[3]  M
-- ARGV[4..] number, token, how many checkpoints this process wrote before, data, ...
-- Returns  'word word ...': 'kept' or 'gone', one for each
-- Errors   FENCED  M is no member
--          FULL    Redis is out of memory: what stands before in the list may be kept
-- Cost     O(processes + bytes)
-- Twice    keeps the same.
local m, out = ARGV[3], {}
if not member(m) then return FENCED end
persistent()
redis.call('ZCARD', q .. ':processes:' .. m)
for i = 4, #ARGV, 4 do
  local number, token, count = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local word = 'gone'
  if tonumber(redis.call('ZSCORE', q .. ':processes:' .. m, number) or '-1') == token then
    local task = redis.pcall('LINDEX', q .. ':process:' .. m .. '.' .. number, 0)
    local fp = type(task) == 'string' and redis.sha1hex(task)
    if fp and redis.call('HGET', holders, fp) == m .. '.' .. number then
      word = 'kept'
      local t, c = string.match(redis.call('HGET', checkpoints, fp) or '0 0\n', '^(%d+) (%d+)\n')
      if tonumber(t) < token or tonumber(t) == token and tonumber(c) < count then
        local try = redis.pcall('HSET', checkpoints, fp, num(token) .. ' ' .. num(count) .. '\n' .. ARGV[i + 3])
        if type(try) == 'table' then return string.find(try.err, 'OOM', 1, true) and {err = 'FULL ' .. try.err} or try end
      end
    end
  end
  out[#out + 1] = word
end
return table.concat(out, ' ')
