package dst_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// A theatre has both stages.
type theatre struct {
	disk *disk
	twin *twin
}

func newTheatre(t testing.TB) theatre { return theatre{newDisk(t), newTwin()} }

func (o theatre) strike(t testing.TB) { o.disk.strike(t) }

// play plays a history in memory, and every so many-th on the real store, too,
// where it must be the same: differs says where it is not.
func (o theatre) play(t *testing.T, seed uint64) (h *history, differs string) {
	t.Helper()
	switch {
	case *realEvery == 0:
		return play(t, newPlan(seed), o.disk, bug{}), ""
	case seed%*realEvery == 0:
		return o.both(t, seed)
	}
	return play(t, newPlan(seed), o.twin, bug{}), ""
}

// alike is how often a history is played on both stages until it is the same.
// Goroutines that are ready at one moment run in any order, which can make a
// microsecond; a store that is not its twin differs each time.
const alike = 5

// both plays a history on both stages, and returns that of the real store.
func (o theatre) both(t *testing.T, seed uint64) (h *history, differs string) {
	t.Helper()
	for range alike {
		real, twin := play(t, newPlan(seed), o.disk, bug{}), play(t, newPlan(seed), o.twin, bug{})
		if h, differs = real, real.differs(twin); differs == "" || h.failed() {
			break
		}
	}
	return h, differs
}

// split matches the part of a second in the time of an event.
var split = regexp.MustCompile(`(\d\d:\d\d:\d\d)\.\d{3}`)

// events tells the history to the second: a microsecond can make one millisecond
// of another, and is no other way.
func (h *history) events() string { return split.ReplaceAllString(h.String(), "$1") }

// differs says where the twin of a history went another way; "" if it did not.
func (h *history) differs(twin *history) string {
	was, is := strings.Split(h.events(), "\n"), strings.Split(twin.events(), "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			return fmt.Sprintf("in memory, line %d is\n%s\nand on the real store\n%s", i, is[i], was[i])
		}
	}
	if len(was) != len(is) {
		return fmt.Sprintf("%d lines in memory, %d on the real store", len(is), len(was))
	}
	for i := range h.rests {
		if !reflect.DeepEqual(h.rests[i], twin.rests[i]) {
			return fmt.Sprintf("at rest %d there is in memory\n%+v\nand in the real store\n%+v", i, twin.rests[i], h.rests[i])
		}
	}
	return ""
}
