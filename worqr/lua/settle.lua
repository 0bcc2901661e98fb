-- settle ends processes of one membership.
--
-- ARGV[3]  M
-- ARGV[4]  'number token outcome number token outcome ...', 500 at the most; outcome: 'finish', 'front' or 'back';
--          of several put at the front the last named is taken first
-- Returns  'word word ...', one each: 'done' now; 'dropped': put back, but cancelled since, so it is gone for good;
--          'gone': M is a member and does not hold it under this token
-- Errors   FENCED  M is no member: nothing was done
-- Cost     O(processes named)
-- Twice    the second answers gone.
local m = ARGV[3]
if redis.call('HEXISTS', q .. ':workers', m) == 0 then
  return {err = 'FENCED this membership is no longer in the queue'}
end
local prefix, mine = q .. ':process:' .. m .. '.', q .. ':processes:' .. m
redis.call('LLEN', q .. ':tasks')
redis.call('SCARD', q .. ':idle')
local marks = newest() > 0

local numbers, tokens, outcomes = {}, {}, {}
for number, token, outcome in string.gmatch(ARGV[4], '(%d+) (%d+) (%a+)') do
  local i = #numbers + 1
  numbers[i], tokens[i], outcomes[i] = number, token, outcome
end
if #numbers == 0 then return '' end

local out, ended, keys = {}, {}, {} -- a key: the process is in hand
local scores, named = redis.call('ZMSCORE', mine, unpack(numbers)), {}
for i, number in ipairs(numbers) do
  if named[number] or not scores[i] or scores[i] ~= tokens[i] and tonumber(scores[i]) ~= tonumber(tokens[i]) then
    out[i] = 'gone'
  else
    named[number] = true
    ended[#ended + 1] = number
    keys[#keys + 1] = prefix .. number
  end
end
if #ended == 0 then return table.concat(out, ' ') end

-- Whose task was removed by hand, or overwritten, is gone too.
local whole = redis.call('EXISTS', unpack(keys)) == #keys
-- quiet: nobody hears what is done, so it is not said. In a cluster a count of 0 does not tell that.
local function quiet(heard)
  if heard > 0 then return false end
  local answer = redis.pcall('CLUSTER', 'MYID')
  return type(answer) == 'table' and string.find(answer.err or '', 'cluster support disabled', 1, true) ~= nil
end

redis.call('ZREM', mine, unpack(ended))
local done, silent, back, finished = root .. ':' .. queue .. ':done', false, 0, {}
local worker = string.match(m, '^(.*)%.') .. ' ' .. m .. '.'
for i, number in ipairs(numbers) do
  if not out[i] then
    local key, finish = prefix .. number, outcomes[i] == 'finish'
    local unread = finish and silent and whole
    local task = unread or redis.pcall('LINDEX', key, 0)
    if not unread and type(task) ~= 'string' then
      out[i] = 'gone'
    elseif finish then
      finished[#finished + 1] = key
      if not silent then
        local heard = redis.call('PUBLISH', done, worker .. number .. ' ' .. tokens[i] .. '\n' .. task)
        silent = #finished == 1 and i < #numbers and quiet(heard)
      end
      out[i] = 'done'
    elseif marks and cancelled(task, tonumber(tokens[i])) then
      finished[#finished + 1] = key
      out[i] = 'dropped'
    else
      redis.call('LMOVE', key, q .. ':tasks', 'LEFT', outcomes[i] == 'front' and 'RIGHT' or 'LEFT')
      back = back + 1
      out[i] = 'done'
    end
  end
end
if #finished > 0 then redis.call('DEL', unpack(finished)) end
announce(back)
return table.concat(out, ' ')
