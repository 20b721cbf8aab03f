package pacing_test

import (
	"errors"
	"testing"

	"collect/collection"
	"collect/pacing"
)

// TestBecause: a stop says why the attempt before it got no answer, but a quota that is used up is told as that.
func TestBecause(t *testing.T) {
	const closed, quota = "the connection was closed before the answer", "the quota daily is used up"
	for _, tc := range []struct {
		stop collection.Stop
		want string
	}{
		{collection.Stop{Reason: collection.WallClock, Detail: "the time is up"}, closed},
		{collection.Stop{Reason: collection.Quota, Detail: quota}, quota},
		{collection.Stop{Reason: collection.Quota}, closed},
	} {
		stop, ok := errors.AsType[*collection.Stop](pacing.Because(&tc.stop, closed))
		if !ok || stop.Detail != tc.want {
			t.Errorf("%s: %+v, want %q", tc.stop.Reason, stop, tc.want)
		}
	}
}
