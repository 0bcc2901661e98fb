-- beat renews a heartbeat. One that is gone is never made again. Where no peer has claimed the round of looking at the
-- others, a worker that is willing claims it by its beat: so nobody asks in vain.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  W
-- ARGV[3]  T in milliseconds
-- ARGV[4]  for how many milliseconds to claim the round, '0': not willing
-- Returns  {Redis's clock in microseconds, 1 when the round is W's now, 1 when it is claimed, by W or a peer,
--          how many of watcher and deputy there are}
-- Errors   LOST  the heartbeat is gone: W has lapsed, for good
-- Cost     O(1)
-- Twice    renews twice; a claim of a late copy delays the next round by as long as it lasts.
local key = KEYS[1] .. ':worker:' .. ARGV[2]
local set = redis.pcall('SET', key, 'RUN', 'PX', ARGV[3], 'XX')
if type(set) == 'table' and set.err then -- a full Redis refuses SET and allows PEXPIRE
  set = redis.call('PEXPIRE', key, ARGV[3]) == 1
end
if not set then return {err = 'LOST the heartbeat is gone'} end
local t = redis.call('TIME')
local round = KEYS[1] .. ':sweep'
local left = redis.call('PTTL', round)
local claimed, mine = left >= 0, false
if left > ARGV[3] / 3 then -- no claim is made for so long: Redis's clock was set back
  redis.call('PEXPIRE', round, string.format('%d', ARGV[3] / 3))
end
if not claimed and ARGV[4] ~= '0' then
  redis.call('SET', round, ARGV[2], 'PX', ARGV[4])
  claimed, mine = true, true
end
return {string.format('%.0f', tonumber(t[1]) * 1000000 + tonumber(t[2])), mine and '1' or '0', claimed and '1' or '0',
  redis.call('EXISTS', KEYS[1] .. ':watch', KEYS[1] .. ':deputy')}
