package dst_test

import (
	"fmt"
	"reflect"
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

// both plays a history on both stages, and returns that of the real store.
func (o theatre) both(t *testing.T, seed uint64) (h *history, differs string) {
	t.Helper()
	real, twin := play(t, newPlan(seed), o.disk, bug{}), play(t, newPlan(seed), o.twin, bug{})
	return real, real.differs(twin)
}

// differs says where the twin of a history went another way; "" if it did not.
func (h *history) differs(twin *history) string {
	was, is := strings.Split(h.String(), "\n"), strings.Split(twin.String(), "\n")
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
