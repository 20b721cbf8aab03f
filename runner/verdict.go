package runner

import "collect/collection"

// Verdict says how a run ended, from its reason and from what the connector
// still owes.
//
// A run is complete only if nothing is owed; a planned pause is one only if
// nothing but planned gaps is owed. So no outcome that scripts read as success
// hides a hole: a provider gap makes it [collection.Waiting], a stuck gap or a
// record in quarantine makes it [collection.Blocked]. A piece that a rule of
// the connector or the provider declared gone is not owed.
func Verdict(run collection.Run, owed []collection.Gap) collection.Outcome {
	stuck, pressure, planned := run.Tally.Rejected > 0, false, false
	for _, gap := range owed {
		if gap.Reason == collection.Gone {
			continue
		}
		switch gap.Reason.Kind() {
		case collection.Stuck:
			stuck = true
		case collection.Pressure:
			pressure = true
		case collection.Planned:
			planned = true
		}
	}
	switch {
	case run.Reason == collection.Interrupted:
		return collection.RunInterrupted
	case stuck:
		return collection.Blocked
	case pressure, run.Reason == collection.CircuitOpen, run.Reason == collection.RetryAfter:
		return collection.Waiting
	case planned:
		return collection.Deferred
	case run.Tally.Changed == 0:
		return collection.NothingNew
	}
	return collection.Complete
}
