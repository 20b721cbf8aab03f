package gate_test

import (
	"time"

	"collect/pacing/gate"
)

const ms = time.Millisecond

var t0 = gate.Epoch
