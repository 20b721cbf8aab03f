package collection

// OutcomeOf says how a run ended, from its reason and from what the connector
// still owes.
//
// A run is complete only if nothing is owed; a planned pause is one only if
// nothing but planned gaps is owed. So no outcome that scripts read as success
// hides a hole: a provider gap makes it [Waiting], a stuck gap or a
// record in quarantine makes it [Blocked]. What ended the run counts
// like a gap, and an open breaker like pressure: no person chose that end. A gap
// that is dead counts as stuck, whatever its reason; one that was revived counts
// as before, until a run has tried it. One that was waived does not count. A refusal that another run met is no more
// than a piece to be tried; see [OfBefore]. A piece that a rule of the connector
// or the provider declared gone is not owed.
func OutcomeOf(run Run, owed []Gap) Outcome {
	if run.Reason == Interrupted {
		return RunInterrupted
	}
	kinds := map[Kind]bool{}
	for _, gap := range owed {
		switch {
		case gap.Settled():
		case OfBefore(run, gap):
			kinds[Planned] = true
		default:
			kinds[gap.Kind()] = true
		}
	}
	switch {
	case run.Reason == "", run.Reason.Settled():
	case run.Reason == CircuitOpen:
		kinds[Pressure] = true
	default:
		kinds[run.Reason.Kind()] = true
	}
	switch {
	case kinds[Stuck], run.Tally.Rejected > 0:
		return Blocked
	case kinds[Pressure]:
		return Waiting
	case kinds[Planned]:
		return Deferred
	case run.Tally.Changed == 0 && run.Tally.Deleted == 0:
		return NothingNew
	}
	return Complete
}

// OfBefore reports whether a gap tells of a refusal of the credential or of the
// account that an earlier run met, and this one, which was answered, did not: it
// has not tried the piece, and nothing says that it would be refused again.
func OfBefore(run Run, gap Gap) bool {
	return gap.Reason.RefusesAccount() && gap.State != GapDead && gap.Run != run.ID && !run.Reason.RefusesAccount() && run.Tally.Slices > 0
}
