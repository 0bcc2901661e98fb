-- locate tells where a persistent task is.
--
-- ARGV[3]  the task
-- Returns  {} when it is not there, or {state, P or '', token, microseconds of the date from which it may start or '0',
--          early deaths of its workers}; state: 'held', 'ending', 'waiting', 'delayed' or 'suspect'
-- Cost     O(1)
persistent()
local fp = redis.sha1hex(ARGV[3])
local _, _, _, deaths = record(fp)
local p = redis.call('HGET', holders, fp)
if p then
  local m, number = string.match(p, '^(.*%.%d+)%.(%d+)$')
  local token = tonumber(redis.call('ZSCORE', q .. ':processes:' .. m, number) or '0')
  local state = newest() > 0 and cancelled(ARGV[3], token) and 'ending' or 'held'
  return {state, p, num(token), '0', num(deaths)}
end
local date = redis.call('ZSCORE', delayed, ARGV[3])
if date then
  if tonumber(date) < NEVER then date = date - tonumber(redis.call('HGET', times, 'skew') or '0') end -- by Redis's clock
  return {deaths > 2 and 'suspect' or 'delayed', '', '0', num(tonumber(date)), num(deaths)}
end
if redis.call('SISMEMBER', unique, fp) == 1 then return {'waiting', '', '0', '0', num(deaths)} end
return {}
