package live

import (
	"fmt"
	"slices"
	"strings"

	"collect/cmd/internal/term"
	"collect/internal/words"
)

// A Stage says how far one of several runs has come.
type Stage int

// The stages of a run.
const (
	Queued Stage = iota
	Starting
	Working
	Over
)

// A Row is one of several runs in the block that shows them together.
type Row struct {
	Name  string
	Stage Stage
	Frame Frame  // of a run that has begun
	Word  string // how it ended
	Needs bool   // it ended, and needs a person
	Next  string // what comes after its end
}

// rowsAside is how many rows of a terminal a block of several runs leaves to the
// lines above it, its head and its foot.
const rowsAside = 8

// togetherBlock returns the block for several runs: a line for each in the order
// of their names, and where the terminal is too low for that, those first that need
// a person or wait. No line is as wide as the terminal.
func togetherBlock(all []Row, stopping bool, columns, height int, c term.Caps) []string {
	room := height - rowsAside
	if columns < widthForBlock || room < 1 {
		return []string{c.Text(term.Fit(" "+countRows(all), columns-1))}
	}
	shown, rest := all, []Row(nil)
	if len(all) > room {
		shown = slices.Clone(all)
		slices.SortStableFunc(shown, func(a, b Row) int { return a.urgency() - b.urgency() })
		shown, rest = shown[:room], shown[room:]
	}
	t := term.Table{
		Head:  []string{"CONNECTOR", "STATE", "SAVED", "RATE", "NEXT"},
		Right: []int{2, 3}, Give: []int{0, 4}, Drop: []int{3, 2},
		Paint: func(row, column int) string {
			if column != 1 {
				return ""
			}
			_, color := shown[row].state()
			return color
		},
	}
	for _, row := range shown {
		word, _ := row.state()
		t.Rows = append(t.Rows, []string{words.Clean(row.Name), word, row.saved(), row.rate(), row.next()})
	}
	var lines []string
	for line := range strings.Lines(t.Render(columns-2, c)) {
		lines = append(lines, " "+strings.TrimSuffix(line, "\n"))
	}
	var foot []string
	if len(rest) > 0 {
		foot = append(foot, "and "+countRows(rest))
	}
	stop := "ctrl-c stops each after its current page"
	if stopping {
		stop = "stopping each after its current page; ctrl-c again stops now"
	}
	for _, line := range append(foot, "all: "+countRows(all), stop) {
		lines = append(lines, c.Text(term.Fit(" "+line, columns-1)))
	}
	return lines
}

// state returns the one word for what a run does, and its color.
func (r Row) state() (word, color string) {
	switch {
	case r.Stage == Queued:
		return "queued", ""
	case r.Stage == Starting:
		return "starting", ""
	case r.Stage == Working:
		return stateWord(r.Frame)
	case r.Needs:
		return r.Word, term.Red
	}
	return r.Word, ""
}

// urgency orders runs by how soon somebody must look at them.
func (r Row) urgency() int {
	switch {
	case r.Stage == Over && r.Needs, r.Stage == Working && r.Frame.Frozen:
		return 0
	case r.Stage == Working && r.Frame.Waiting > 0:
		return 1
	case r.Stage == Working:
		return 2
	case r.Stage == Starting:
		return 3
	case r.Stage == Queued:
		return 4
	}
	return 5
}

func (r Row) saved() string {
	if r.Frame.Run == "" {
		return "-"
	}
	return words.Count(max(r.Frame.Saved, r.Frame.Changed))
}

func (r Row) rate() string {
	if r.Stage != Working {
		return "-"
	}
	return words.Rate(r.Frame.RateNow)
}

// next says what a run waits for, or what comes after it.
func (r Row) next() string {
	f := r.Frame
	switch {
	case r.Stage == Queued:
		return "waits for its turn"
	case r.Stage == Starting:
		return "waits for its lease"
	case r.Stage == Over:
		return r.Next
	case f.Frozen:
		return words.Clean(f.Provider) + " answered 403, all calls are stopped"
	case f.Waiting > 0:
		return words.Span(words.CeilSecond(f.Waiting)) + ": " + waitWords(f)
	}
	return words.Clean(f.Stream)
}

// countRows counts runs by what they do, those that need a person first.
func countRows(rows []Row) string {
	names := []string{"%d need you", "%d waiting", "%d collecting", "%d starting", "%d queued", "%d over"}
	n := make([]int64, len(names))
	for _, row := range rows {
		n[row.urgency()]++
	}
	var parts []string
	for i, name := range names {
		if n[i] == 1 {
			name = strings.Replace(name, "need ", "needs ", 1)
		}
		if n[i] > 0 {
			parts = append(parts, fmt.Sprintf(name, n[i]))
		}
	}
	return strings.Join(parts, " · ")
}
