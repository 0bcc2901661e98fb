package worqr

import "slices"

// ScriptName names the script with a SHA-1, or answers "". Tests of faults choose the commands to break by it.
func ScriptName(sha string) string {
	all := []*script{
		joinScript, beatScript, serveScript, unserveScript, noteScript, forgetScript, leaveScript, failScript, sweepScript, rosterScript, servedScript,
		checkScript, openScript, enqueueScript, takeScript, settleScript, reclaimScript, lookScript, wakeScript, newestScript, cancelScript, deleteScript,
		auditScript, heldScript, trimScript,
	}
	if i := slices.IndexFunc(all, func(s *script) bool { return s.sha == sha }); i >= 0 {
		return all[i].name
	}
	return ""
}
