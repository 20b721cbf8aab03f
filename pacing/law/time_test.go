package law_test

import (
	"time"

	"collect/pacing/law"
)

const ms = time.Millisecond

var t0 = law.Epoch
