-- hold_look is look for a persistent queue. Once in a while it also tells one member how the tasks are shared out.
--
-- ARGV[3]  M
-- ARGV[4]  the newest cancel mark that M knows
-- ARGV[5]  for how many milliseconds to claim the round, '0': M plans nothing now
-- Returns  {processes that M holds, tasks waiting, newest mark, round, fingerprint or '*', mark, ... as look answers them}
--          round: {} when it is another's, or {Redis's clock in microseconds, when the budget of moves is full, M, weight,
--          limit, when it was opened, processes in hand, M, ...}
-- Errors   FENCED  M is no member
-- Cost     O(log marks + marks answered + members)
-- Twice    looks twice; a claim of a late copy delays the next round by as long as it lasts.
local m = ARGV[3]
if not member(m) then return FENCED end
persistent()
local mark, held = newest(), redis.call('ZCARD', q .. ':processes:' .. m)
redis.call('ZREM', q .. ':cancels', '') -- lets the next write pass on a full Redis
promote()
local round = {}
if ARGV[5] ~= '0' and claim(q .. ':round', m, tonumber(ARGV[5])) then
  local _, time = clock()
  round[1] = num(time)
  round[2] = redis.call('HGET', q .. ':policy', 'full') or '0'
  local all = redis.call('HGETALL', shares)
  for i = 1, #all, 2 do
    local weight, limit, since = string.match(all[i + 1], '^(%d+) (%d+) (%d+)$')
    if tonumber(since) > time then -- Redis's clock has stepped back: nobody joins in the future
      since = num(time)
      redis.call('HSET', shares, all[i], weight .. ' ' .. limit .. ' ' .. since)
    end
    round[#round + 1] = all[i]
    round[#round + 1] = weight
    round[#round + 1] = limit
    round[#round + 1] = since
    round[#round + 1] = num(spared('ZCARD', q .. ':processes:' .. all[i]) or 0)
  end
end
rouse()
local out = {
  num(held), num(redis.call('LLEN', tasks)), num(mark), round,
}
return withMarks(out, ARGV[4])
