package worqr

import "slices"

var scripts = []*script{
	joinScript, beatScript, serveScript, unserveScript, noteScript, forgetScript, leaveScript, failScript, sweepScript, rosterScript, servedScript,
	checkScript, openScript, enqueueScript, takeScript, settleScript, reclaimScript, lookScript, wakeScript, newestScript, cancelScript, deleteScript,
	auditScript, heldScript, trimScript,
}

// ScriptName names the script with a SHA-1, or answers "". Tests of faults choose the commands to break by it.
func ScriptName(sha string) string {
	if i := slices.IndexFunc(scripts, func(s *script) bool { return s.sha == sha }); i >= 0 {
		return scripts[i].name
	}
	return ""
}

// ScriptSource answers the text of a script, as it is sent.
func ScriptSource(name string) string {
	i := slices.IndexFunc(scripts, func(s *script) bool { return s.name == name })
	return scripts[i].source
}
