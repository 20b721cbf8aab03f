package response_test

import "time"

const ms = time.Millisecond

var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
