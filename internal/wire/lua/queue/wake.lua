-- wake passes a wake-up on: the caller was woken and has no free slot.
--
-- Returns  how many were woken
-- Cost     O(1)
-- Twice    wakes one more, who finds the queue as it is.
return num(wake(math.min(1, redis.call('LLEN', q .. ':tasks'))))
