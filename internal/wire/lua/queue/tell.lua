-- tell gives the hint of a cancel that found too many processes in hand to name the copies, once its caller has listed them.
--
-- ARGV[3]  the task
-- ARGV[4]  the mark
-- Returns  how many heard it
-- Cost     O(1)
-- Twice    tells again.
return redis.call('PUBLISH', root .. ':' .. queue .. ':cancel', ARGV[4] .. told(ARGV[3], redis.sha1hex(ARGV[3])))
