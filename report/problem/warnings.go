package problem

import (
	"fmt"
	"slices"
	"sync"

	"collect/collection"
	"collect/internal/words"
)

// Warnings are those of one run. It is safe for concurrent use.
type Warnings struct {
	mu    sync.Mutex
	total int
	kinds []warned
}

// A warned is the first warning of a kind in a stream, and how many there were.
type warned struct {
	first collection.Event
	times int
}

// mostWarned bounds the kinds that are told at the end of a run.
const mostWarned = 20

// Add takes in an event, and passes over what is no warning.
func (w *Warnings) Add(e collection.Event) {
	if e.Kind != collection.WarningRaised {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total++
	for i, had := range w.kinds {
		if had.first.Code == e.Code && had.first.Stream == e.Stream && e.Code != "" {
			w.kinds[i].times++
			return
		}
	}
	if len(w.kinds) < mostWarned {
		w.kinds = append(w.kinds, warned{e, 1})
	}
}

// Tell returns how many there were, and whether one speaks against the data.
func (w *Warnings) Tell() (total int, doubted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total, slices.ContainsFunc(w.kinds, func(k warned) bool { return k.first.Code.Contradicts() })
}

// Problems explains the warnings that have a code, one for each kind in a
// stream. Those without one are about the run, and were said when they arose.
func (w *Warnings) Problems(sc Scene) []Problem {
	w.mu.Lock()
	defer w.mu.Unlock()
	var problems []Problem
	for _, kind := range w.kinds {
		e := kind.first
		if e.Code == "" {
			continue
		}
		sc.Stream, sc.Partition = e.Stream, e.Partition
		p := Problem{
			Code: string(e.Code), Level: LevelWarning, ExitCode: sc.exit(ExitOK), Needs: NeedsOperator,
			Headline: e.Message, At: sc.place(), Saved: "every record that was sent",
		}
		if kind.times > 1 {
			p.Note = fmt.Sprintf("%s of this run say so in this stream; this is the first", words.Counted(int64(kind.times), "warning", "warnings"))
		}
		problems = append(problems, p)
	}
	return problems
}
