-- beat renews a heartbeat. One that is gone is never made again.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  W
-- ARGV[3]  T in milliseconds
-- Returns  {Redis's clock in microseconds, milliseconds for which the next round is claimed by a peer}
-- Errors   LOST  the heartbeat is gone: W has lapsed, for good
-- Cost     O(1)
-- Twice    renews twice.
local key = KEYS[1] .. ':worker:' .. ARGV[2]
local set = redis.pcall('SET', key, 'RUN', 'PX', ARGV[3], 'XX')
if type(set) == 'table' and set.err then -- a full Redis refuses SET and allows PEXPIRE
  set = redis.call('PEXPIRE', key, ARGV[3]) == 1
end
if not set then return {err = 'LOST the heartbeat is gone'} end
local t = redis.call('TIME')
local claimed = math.max(0, redis.call('PTTL', KEYS[1] .. ':sweep'))
return {string.format('%.0f', tonumber(t[1]) * 1000000 + tonumber(t[2])), string.format('%.0f', claimed)}
