-- add is enqueue for a persistent queue: what is present already is not added again. Whether it is, is judged here.
--
-- ARGV[3]   the generation of a Reconcile, '' of an Enqueue
-- ARGV[4..] the tasks, 500 at the most
-- Returns   {how many wait now, '1' when the queue had neither tasks nor members before, how many were added}
-- Errors    PLAIN       the queue is not persistent
--           SUPERSEDED  a later Reconcile has begun
--           FULL        Redis is out of memory and evicts nothing
-- Cost      O(tasks + members)
-- Twice     adds nothing.
if not persistent() then return {err = 'PLAIN the queue is not persistent'} end
if ARGV[3] ~= '' and redis.call('HGET', q .. ':policy', 'generation') ~= ARGV[3] then
  return {err = 'SUPERSEDED a later call has begun'}
end
local marks = newest() > 0
local bare = redis.call('HLEN', q .. ':workers') == 0 and redis.call('LLEN', tasks) == 0
local try = redis.pcall('HSET', q .. ':policy', 'persistent', '1')
if type(try) == 'table' then return string.find(try.err, 'OOM', 1, true) and {err = 'FULL ' .. try.err} or try end
redis.call('PERSIST', q .. ':policy')
local added = 0
for i = 4, #ARGV do
  local task = ARGV[i]
  local fp = redis.sha1hex(task)
  local p = redis.call('HGET', holders, fp)
  if redis.call('SISMEMBER', unique, fp) == 0 then
    if not p then
      redis.call('HDEL', past, fp)
      redis.call('HDEL', checkpoints, fp)
      redis.call('LPUSH', tasks, task)
    elseif marks then
      local m, number = string.match(p, '^(.*%.%d+)%.(%d+)$')
      local token = tonumber(spared('ZSCORE', q .. ':processes:' .. m, number) or '0')
      if cancelled(task, token) then redis.call('ZADD', delayed, num(NEVER + 1), task) else fp = nil end
    else
      fp = nil
    end
    if fp then
      redis.call('SADD', unique, fp)
      redis.call('HSET', present, fp, task)
      added = added + 1
    end
  end
end
if added > 0 then
  redis.call('PUBLISH', root .. ':' .. queue .. ':work', num(added))
  rouse()
end
return {num(redis.call('LLEN', tasks)), bare and '1' or '0', num(added)}
