package times_test

import (
	"reflect"
	"testing"
	"time"

	"collect/internal/times"
)

type inner struct{ At time.Time }

type outer struct {
	inner
	Zero, At time.Time
	To, None *inner
	List     []inner
	Pair     [2]time.Time
	ByName   map[string]inner
	Bytes    []byte
	text     string
}

// TestMoved: each time moves, the zero one stays, and the original is as it was.
func TestMoved(t *testing.T) {
	value := func(at time.Time) outer {
		in := inner{at}
		return outer{inner: in, At: at, To: &inner{at}, List: []inner{in}, Pair: [2]time.Time{1: at},
			ByName: map[string]inner{"a": in}, Bytes: []byte("b"), text: "c"}
	}
	now := time.Unix(1e9, 0)
	original := value(now)
	later := func(at time.Time) time.Time { return at.Add(time.Hour) }
	if got, want := times.Moved(original, later), value(now.Add(time.Hour)); !reflect.DeepEqual(got, want) {
		t.Errorf("moved: %+v, want %+v", got, want)
	}
	if got := times.Moved(any(&original), later).(*outer); !got.At.Equal(now.Add(time.Hour)) {
		t.Errorf("moved through an interface and a pointer: %v", got.At)
	}
	if want := value(now); !reflect.DeepEqual(original, want) {
		t.Errorf("the original became %+v, want %+v", original, want)
	}
}

// TestSame: what a clock of another machine makes of a time is the same time, and two
// that are further apart than a second are not.
func TestSame(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for off, want := range map[time.Duration]bool{0: true, 300 * time.Millisecond: true, -300 * time.Millisecond: true, 2 * time.Second: false, -2 * time.Second: false} {
		if got := times.Same(at, at.Add(off)); got != want {
			t.Errorf("Same with a time that is off by %v = %t", off, got)
		}
	}
	if times.Same(time.Time{}, at) || !times.Same(time.Time{}, time.Time{}) {
		t.Error("no time is the same as a time")
	}
}
