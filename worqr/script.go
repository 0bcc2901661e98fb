package worqr

import "github.com/worqr/worqr-go/internal/wire"

type script = wire.Script

var (
	addScript        = wire.Named("add")
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
