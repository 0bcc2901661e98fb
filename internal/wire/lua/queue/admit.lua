-- admit gives the next turn of an upstream: in the whole mesh its holds start no faster than at its rate.
--
-- ARGV[3]  the upstream's name
-- ARGV[4]  microseconds from one turn to the next
-- Returns  in how many microseconds the turn is
-- Cost     O(1)
-- Twice    takes two turns.
local key, t = q .. ':turn:' .. redis.sha1hex(ARGV[3]), now()
-- The turn after this one, and for how far ahead it was set: further ahead it can only be after Redis's clock stepped back.
local kept, ahead = string.match(redis.call('GET', key) or '', '^(%d+)%.?(%d*)$')
local at = math.max(t, math.min(tonumber(kept or 0), t + (tonumber(ahead or '') or 9e15)))
local next = at + tonumber(ARGV[4])
redis.call('DEL', key .. ':') -- lets the next write pass on a full Redis
redis.call('SET', key, num(next) .. '.000000' .. num(next - t), 'PX', num(math.ceil((next - t) / 1000) + 1000))
return num(at - t)
