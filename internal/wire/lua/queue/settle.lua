-- settle ends processes of one membership.
--
-- ARGV[3]  M
-- ARGV[4]  runs: 'number token count outcome number token count outcome ...', 500 processes at the most: as many from
--          `number` on, with the tokens from `token` on; outcome: 'finish'; 'cancel', which ends a cancelled one
--          and says nothing on the channel `done`; 'front' or 'back'. Of a run that is put at the
--          front the first is taken first, of several runs the last named
-- Returns  'word word ...', one for each process: 'done' now; 'dropped': put back, but cancelled since, so it is gone for
--          good; 'gone': M is a member and does not hold it under this token
-- Errors   FENCED   M is no member: nothing was done
--          INVALID  more than 500 processes: nothing was done
-- Cost     O(processes named)
-- Twice    the second answers gone.
if not member(ARGV[3]) then return FENCED end
if named(ARGV[4]) > 500 then return {err = 'INVALID settle: 500 at once'} end
redis.call('ZCARD', q .. ':processes:' .. ARGV[3])
redis.call('LLEN', q .. ':tasks')
redis.call('SREM', q .. ':idle', '') -- reads its type, and lets the next write pass on a full Redis
return settle(ARGV[3], ARGV[4], newest() > 0)
