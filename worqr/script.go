package worqr

import "github.com/worqr/worqr-go/internal/wire"

type script = wire.Script

var (
	openScript       = wire.Named("open")
	enqueueScript    = wire.Named("enqueue")
	takeScript       = wire.Named("take")
	settleScript     = wire.Named("settle")
	reclaimScript    = wire.Named("reclaim")
	lookScript       = wire.Named("look")
	wakeScript       = wire.Named("wake")
	newestScript     = wire.Named("newest")
	cancelScript     = wire.Named("cancel")
	tellScript       = wire.Named("tell")
	deleteScript     = wire.Named("delete")
	auditScript      = wire.Named("audit")
	heldScript       = wire.Named("held")
	trimScript       = wire.Named("trim")
	rescueScript     = wire.Named("rescue")
	allowScript      = wire.Named("allow")
	addScript        = wire.Named("add")
	holdTakeScript   = wire.Named("hold_take")
	holdSettleScript = wire.Named("hold_settle")
	holdLookScript   = wire.Named("hold_look")
	grantScript      = wire.Named("grant")
	weighScript      = wire.Named("weigh")
	generationScript = wire.Named("generation")
	presentScript    = wire.Named("present")
	dropScript       = wire.Named("drop")
	locateScript     = wire.Named("locate")
	offerScript      = wire.Named("offer")
	readyScript      = wire.Named("ready")
	admitScript      = wire.Named("admit")
	checkpointScript = wire.Named("checkpoint")
)
