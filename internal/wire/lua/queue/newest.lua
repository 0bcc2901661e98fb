-- newest answers the newest token of the queue: of a process, a mark or a close. Cancel, delete and open carry it, so that
-- a late copy of them is known from a new one. It changes nothing.
--
-- Returns  the token, 0 without one
-- Cost     O(1)
return num(math.max(tonumber(redis.call('GET', q .. ':token') or '0'), newest()))
