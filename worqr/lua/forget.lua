-- forget takes a queue that is empty and that nobody serves off the list of queues. A producer that was faster notes
-- it again: enqueue and open tell when the queue had neither tasks nor members.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  Q
-- Returns  1 when it was listed
-- Cost     O(1)
-- Twice    removes nothing more.
return redis.call('SREM', KEYS[1] .. ':queues', ARGV[2])
