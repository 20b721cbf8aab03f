package runner

import "collect/collection"

// Verdict says how a run ended, from its reason and from what the connector
// still owes.
//
// A run is complete only if nothing is owed; a planned pause is one only if
// nothing but planned gaps is owed. So no outcome that scripts read as success
// hides a hole: a provider gap makes it [collection.Waiting], a stuck gap or a
// record in quarantine makes it [collection.Blocked]. What ended the run counts
// like a gap, and an open breaker like pressure: no person chose that end. A gap
// that is dead counts as stuck, whatever its reason; one that was revived counts
// as before, until a run has tried it. A refusal that another run met is no more
// than a piece to be tried; see [OfBefore]. A piece that a rule of the connector
// or the provider declared gone is not owed.
func Verdict(run collection.Run, owed []collection.Gap) collection.Outcome {
	if run.Reason == collection.Interrupted {
		return collection.RunInterrupted
	}
	kinds := map[collection.Kind]bool{}
	for _, gap := range owed {
		switch {
		case gap.Reason == collection.Gone:
		case OfBefore(run, gap):
			kinds[collection.Planned] = true
		default:
			kinds[gap.Kind()] = true
		}
	}
	switch run.Reason {
	case "", collection.Gone:
	case collection.CircuitOpen:
		kinds[collection.Pressure] = true
	default:
		kinds[run.Reason.Kind()] = true
	}
	switch {
	case kinds[collection.Stuck], run.Tally.Rejected > 0:
		return collection.Blocked
	case kinds[collection.Pressure]:
		return collection.Waiting
	case kinds[collection.Planned]:
		return collection.Deferred
	case run.Tally.Changed == 0:
		return collection.NothingNew
	}
	return collection.Complete
}

// OfBefore reports whether a gap tells of a refusal of the credential or of the
// account that an earlier run met, and this one, which was answered, did not: it
// has not tried the piece, and nothing says that it would be refused again.
func OfBefore(run collection.Run, gap collection.Gap) bool {
	refusal := func(r collection.Reason) bool {
		return r == collection.Auth || r == collection.Frozen || r == collection.Suspended
	}
	return refusal(gap.Reason) && gap.State != collection.GapDead && !refusal(run.Reason) && run.Tally.Slices > 0
}
