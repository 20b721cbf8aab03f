package report

import (
	"slices"
	"time"

	"collect/collection"
)

// A Fleet is what is known of the workers beside a store.
type Fleet struct {
	Turns   map[string]time.Time         // by connector, when the fleet goes on with it: in the past while a worker has it in hand
	InHand  map[string]collection.Holder // by connector, the worker that has it in hand
	Workers []collection.Holder          // that live
}

// silentAfter is how long a run says nothing only if something keeps it from that: it says that it is
// alive twice as often.
const silentAfter = 10 * time.Second

// Silent reports whether the newest run is not over as far as the store knows, and has said nothing for longer than
// a run does.
func (s Status) Silent(now time.Time) bool {
	last := s.Newest()
	return last.Outcome == collection.Running && now.Sub(last.SeenAt()) > silentAfter
}

// AddFleet adds when the fleet goes on with the connector, and whether its newest run is over though the store
// does not know: its worker lives, and has it in hand no more.
func (s *Status) AddFleet(f Fleet, now time.Time) {
	s.Turn = f.Turns[s.Name]
	holder := s.Newest().Holder
	s.Unsaid = s.Silent(now) && slices.Contains(f.Workers, holder) && f.InHand[s.Name] != holder
}
