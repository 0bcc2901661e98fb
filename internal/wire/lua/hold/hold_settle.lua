-- hold_settle is settle for a persistent queue.
--
-- ARGV[3]  M
-- ARGV[4]  'number token count outcome ...' as settle is told; outcome: 'finish'; 'cancel'; 'front' and 'handover' put the task at
--          the front, as 'drain' and 'rebalance' do: the next holder is told why; 'undo' does it as if the task had not
--          been taken; 'later' delays it
-- Returns  'word word ...' as settle answers
-- Errors   FENCED, INVALID as settle
-- Cost     O(processes named + members)
-- Twice    the second answers gone.
local m = ARGV[3]
if not member(m) then return FENCED end
if named(ARGV[4]) > 500 then return {err = 'INVALID settle: 500 at once'} end
local mine, out, moved = q .. ':processes:' .. m, {}, false
redis.call('ZCARD', mine)
persistent()
local marks = newest() > 0
redis.call('ZREM', q .. ':cancels', '') -- lets the next write pass on a full Redis
for first, token, count, outcome in string.gmatch(ARGV[4], '(%d+) (%d+) (%d+) (%a+)') do
  if outcome == 'front' or outcome == 'back' then outcome = 'handover' end
  for i = 0, tonumber(count) - 1 do
    local number, held = num(tonumber(first) + i), tonumber(token) + i
    local word = 'gone'
    if tonumber(redis.call('ZSCORE', mine, number) or '-1') == held then
      local task = spared('LINDEX', q .. ':process:' .. m .. '.' .. number, 0)
      if task then word, moved = letgo(m, number, task, held, outcome, marks, 0), true end
      redis.call('ZREM', mine, number) -- the last: refused half-way, the process is found again
      if task then
        if outcome == 'finish' and word == 'done' then
          redis.pcall('PUBLISH', root .. ':' .. queue .. ':done', string.match(m, '^(.*)%.') .. ' ' .. m .. '.' .. number
            .. ' ' .. num(held) .. told(task))
        end
      end
    end
    out[#out + 1] = word
  end
end
if moved then
  rouse()
  tidy()
end
return table.concat(out, ' ')
