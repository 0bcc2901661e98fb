-- settle ends processes of one membership.
--
-- ARGV[3]  M
-- ARGV[4]  runs: 'number token count outcome number token count outcome ...', 500 processes at the most: as many from
--          `number` on, with the tokens from `token` on; outcome: 'finish', 'front' or 'back'. Of a run that is put at the
--          front the first is taken first, of several runs the last named
-- Returns  'word word ...', one for each process: 'done' now; 'dropped': put back, but cancelled since, so it is gone for
--          good; 'gone': M is a member and does not hold it under this token
-- Errors   FENCED   M is no member: nothing was done
--          INVALID  more than 500 processes: nothing was done
-- Cost     O(processes named)
-- Twice    the second answers gone.
local m = ARGV[3]
if redis.call('HEXISTS', q .. ':workers', m) == 0 then
  return {err = 'FENCED this membership is no longer in the queue'}
end
local prefix, mine = q .. ':process:' .. m .. '.', q .. ':processes:' .. m
local named = 0
for count in string.gmatch(ARGV[4], '%d+ %d+ (%d+) %a+') do named = named + tonumber(count) end
if named > 500 then return {err = 'INVALID settle: 500 at once'} end
redis.call('ZCARD', mine)
redis.call('LLEN', q .. ':tasks')
redis.call('SCARD', q .. ':idle')
local marks = newest() > 0
local out, back = {}, 0
local worker = string.match(m, '^(.*)%.') .. ' ' .. m .. '.'

-- What is done is said until nobody hears it. Where there is a cluster or a replica a count of 0 does not tell that.
local heard, alone = true, nil
local function info(section, line)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and string.find(text, line, 1, true) ~= nil
end
local function silent()
  if heard then return false end
  if alone == nil then alone = info('cluster', 'cluster_enabled:0') and info('replication', 'connected_slaves:0') end
  return alone
end

-- one ends a process that is in hand.
local function one(number, token, outcome)
  local key = prefix .. number
  redis.call('ZREM', mine, number)
  local task = redis.pcall('LINDEX', key, 0)
  if type(task) ~= 'string' then return 'gone' end -- it was removed by hand, or overwritten
  if outcome == 'finish' then
    redis.call('DEL', key)
    if not silent() then
      -- pcall: a missing right to the channel must not stop what is true
      local n = redis.pcall('PUBLISH', root .. ':' .. queue .. ':done', worker .. number .. ' ' .. num(token) .. '\n' .. task)
      heard = type(n) ~= 'number' or n > 0
    end
    return 'done'
  elseif marks and cancelled(task, token) then
    redis.call('DEL', key)
    return 'dropped'
  end
  redis.call('LMOVE', key, q .. ':tasks', 'LEFT', outcome == 'front' and 'RIGHT' or 'LEFT')
  back = back + 1
  return 'done'
end

for first, token, count, outcome in string.gmatch(ARGV[4], '(%d+) (%d+) (%d+) (%a+)') do
  first, token, count = tonumber(first), tonumber(token), tonumber(count)
  -- Tokens are unique: as many members as tokens, with the right numbers in their order, have exactly these tokens.
  local held = redis.call('ZRANGEBYSCORE', mine, num(token), num(token + count - 1))
  local whole, keys = count > 0 and #held == count, {}
  for i = 1, #held do
    if tonumber(held[i]) ~= first + i - 1 then whole = false end
    keys[i] = prefix .. held[i]
  end
  local at, begin = #out, 0
  if whole and outcome == 'finish' then
    if not silent() then
      out[at + 1] = one(num(first), token, outcome)
      begin = 1
    end
    if begin < count and silent() and redis.call('EXISTS', unpack(keys, begin + 1)) == count - begin then
      redis.call('ZREMRANGEBYSCORE', mine, num(token + begin), num(token + count - 1))
      redis.call('DEL', unpack(keys, begin + 1))
      for i = begin + 1, count do out[at + i] = 'done' end
      begin = count
    end
  end
  local from, to, step = begin, count - 1, 1
  if outcome == 'front' then from, to, step = to, from, -1 end
  for i = from, to, step do
    local number = num(first + i)
    local there = whole or tonumber(redis.call('ZSCORE', mine, number) or '-1') == token + i
    out[at + i + 1] = there and one(number, token + i, outcome) or 'gone'
  end
end
announce(back)
return table.concat(out, ' ')
