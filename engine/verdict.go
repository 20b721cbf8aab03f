package engine

import (
	"cmp"
	"errors"

	"collect/collection"
	"collect/report/problem"
	"collect/store"
)

// An ending is all that the verdict on a run depends on.
type ending struct {
	Run         collection.Run   // with its Reason and Tally, once the work is over
	Owed        []store.OwnedGap // what its connector owes then, whichever run left it
	Err         error            // what ended the run; nil if it came to its end
	Unreached   bool             // no request got as far as an answer
	Interrupted int              // the exit code of the signal, if there was one
	Warnings    int
	Doubted     bool // a warning speaks against the data; see [collection.WarningCode.Contradicts]
	Planned     bool // the run was interrupted as a budget does it: a person paused the connector, or another process goes on
	Strict      bool // say planned pauses, warnings and doubts with codes of their own
}

// verdict returns the verdict on a run and the exit code that says it.
//
// The code is problem.ExitOK only if everything is stored, or what is left is in
// planned gaps. An older gap counts like a new one: what is owed does not
// become less owed by a second run. But that a credential was refused is true
// of the run that met it; see [collection.OfBefore]. Quarantined records count in the run that
// put them there, since quarantine keeps them for good. A piece that its
// provider declared gone is shown and does not count: there is nothing left
// to store. A 404 that no rule explains does.
//
// An interruption speaks for itself, whatever else is owed: the run was not
// there to see the end of it.
func verdict(e ending) (collection.Outcome, int) {
	if e.Planned && e.Run.Reason == collection.Interrupted {
		e.Run.Reason = collection.WallClock // as planned as that; what is recorded stays
	}
	if interrupted(e) {
		return collection.RunInterrupted, cmp.Or(e.Interrupted, problem.ExitInterrupt)
	}
	codes := []int{endCode(e)}
	for _, gap := range e.Owed {
		if collection.OfBefore(e.Run, gap.Gap) {
			codes = append(codes, problem.ExitPaused)
			continue
		}
		codes = append(codes, problem.ExitOfGap(gap.Gap))
	}
	if e.Run.Tally.Rejected > 0 {
		codes = append(codes, problem.ExitOwed)
	}
	if e.Unreached {
		codes = append(codes, problem.ExitUnreached)
	}
	if e.Warnings > 0 {
		codes = append(codes, problem.ExitWarned)
	}
	if e.Strict && e.Doubted {
		codes = append(codes, problem.ExitProtocol)
	}
	code := problem.Worst(codes...)
	if !e.Strict && (code == problem.ExitPaused || code == problem.ExitWarned) {
		code = problem.ExitOK
	}
	return outcomeOf(e), code
}

// interrupted reports whether a signal, and nothing worse, ended the run.
func interrupted(e ending) bool {
	if e.Err == nil {
		return e.Run.Reason == collection.Interrupted
	}
	return problem.ExitOf(e.Err) == problem.ExitInterrupt
}

// endCode returns the code of what ended the run, its owed pieces aside.
func endCode(e ending) int {
	if e.Err != nil {
		if stop, ok := errors.AsType[*collection.Stop](e.Err); ok {
			return problem.ExitOfReason(stop.Reason)
		}
		return problem.ExitOf(e.Err)
	}
	return problem.ExitOfReason(e.Run.Reason)
}

// outcomeOf returns the verdict on a run: the runner's, unless something ended
// it that is no stop.
func outcomeOf(e ending) collection.Outcome {
	run, owed := e.Run, make([]collection.Gap, len(e.Owed))
	for i, gap := range e.Owed {
		owed[i] = gap.Gap
	}
	if stop, ok := errors.AsType[*collection.Stop](e.Err); ok {
		run.Reason = stop.Reason
	} else if e.Err != nil {
		if code := problem.ExitOf(e.Err); code != problem.ExitLater && code != problem.ExitUnreached {
			return collection.Failed
		}
		run.Reason = collection.RetryAfter // it is time that helps
	}
	return collection.OutcomeOf(run, owed)
}
