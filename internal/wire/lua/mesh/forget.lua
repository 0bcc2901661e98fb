-- forget takes a queue that trim found empty and unserved off the list of queues, unless a queue was noted or served
-- since. A producer that was faster notes it again: enqueue tells when the queue had neither tasks nor members.
--
-- KEYS[1]  {ns}
-- ARGV[1]  ns@db
-- ARGV[2]  Q
-- ARGV[3]  the field `notes` of the mesh, read before the queue was looked at
-- Returns  1 when it was listed
-- Cost     O(1)
-- Twice    removes nothing more.
if (redis.call('HGET', KEYS[1] .. ':mesh', 'notes') or '0') ~= ARGV[3] then return 0 end
return redis.call('SREM', KEYS[1] .. ':queues', ARGV[2])
