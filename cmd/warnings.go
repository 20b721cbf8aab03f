package cmd

import (
	"fmt"
	"sync"

	"collect/collection"
	"collect/internal/words"
)

// warnings are those of one run. It is safe for concurrent use.
type warnings struct {
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

// add takes in an event, and passes over what is no warning.
func (w *warnings) add(e collection.Event) {
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

// tell puts into end how many there were, and whether one speaks against the data.
func (w *warnings) tell(end *ending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	end.Warnings = w.total
	for _, kind := range w.kinds {
		end.Doubted = end.Doubted || kind.first.Code.Contradicts()
	}
}

// problems explains the warnings that have a code, one for each kind in a
// stream. Those without one are about the run, and were said when they arose.
func (w *warnings) problems(sc scene) []problem {
	w.mu.Lock()
	defer w.mu.Unlock()
	var problems []problem
	for _, kind := range w.kinds {
		e := kind.first
		if e.Code == "" {
			continue
		}
		sc.Stream, sc.Partition = e.Stream, e.Partition
		p := problem{
			Code: string(e.Code), Level: levelWarning, Needs: needsOperator,
			Headline: e.Message, At: sc.place(), Saved: "every record that was sent",
		}
		if kind.times > 1 {
			p.Note = fmt.Sprintf("%s of this run say so in this stream; this is the first", words.Counted(int64(kind.times), "warning", "warnings"))
		}
		problems = append(problems, p)
	}
	return problems
}
