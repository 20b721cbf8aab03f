package report

import (
	"context"
	"fmt"
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/picture"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// A RunView is one run as a story: how it ended, where its time went, what happened,
// what is left, and what goes on.
type RunView struct {
	collection.Run
	Now    time.Time
	Flags  string             // what commands to copy must repeat
	Later  string             // the run of the connector after it; "": it is the newest
	Events []collection.Event // of the run, oldest first; commits are not among them
	Owed   []store.OwnedGap   // that the run opened, and that are still owed
	Status Status             // of the connector now
}

// RunViewOf gathers what is known of a run; ok is false if there is no such run.
func RunViewOf(ctx context.Context, db store.Reader, id string, now time.Time) (v RunView, ok bool, err error) {
	known, ok, err := RunOf(ctx, db, id)
	if err != nil || !ok {
		return v, false, err
	}
	v.Run, v.Now, v.Later, v.Events = known.Run, now, known.Later, known.Events
	if v.Status, err = StatusOf(ctx, db, v.Connector, now); err != nil {
		return v, false, err
	}
	for _, gap := range v.Status.Owed {
		if gap.Run == id {
			v.Owed = append(v.Owed, gap)
		}
	}
	return v, true, nil
}

// Verdict says how the run ended, and whether that is what stands now.
func (v RunView) Verdict() string {
	name := words.Clean(v.Connector)
	if v.Outcome == collection.Running || v.Outcome == collection.Abandoned {
		return name + Status{Runs: []collection.Run{v.Run}, Unsaid: v.unsaid()}.RunWords(v.Now)
	}
	s := v.summary()
	if v.Later != "" && v.Outcome == collection.Blocked { // what it left may be filled since
		why := "the last run was refused"
		if v.Reason != "" {
			why = problem.Brief(v.Reason)
		}
		return fmt.Sprintf("blocked: %s needed a person: %s.", name, why)
	}
	return s.Verdict()
}

// unsaid reports whether the run is over, and the store does not know how.
func (v RunView) unsaid() bool { return v.Status.Unsaid && v.Later == "" }

func (v RunView) summary() Summary {
	s := SummaryOf(v.Run, v.Status.Owed, v.Status.Count, v.Status.All)
	s.Now, s.Flags = v.Now, v.Flags
	if s.Ended.IsZero() {
		s.Ended = v.SeenAt() // it goes on, or its process died
	}
	if a := v.Status.Account; a != nil {
		s.Provider = a.Provider
		if v.Later == "" && a.Until.After(v.Now) {
			s.NextAt = a.Until
		}
	}
	return s
}

// Time shows where the time of the run went.
func (v RunView) Time() picture.Stack {
	s := v.summary()
	took := words.Span(words.Tenth(s.Ended.Sub(s.Started)))
	stack := picture.Stack{Title: "what its requests waited for, side by side, in " + took}
	for _, p := range s.TimeParts() {
		if p.Cause == "work" {
			stack.Title = "where the " + took + " went"
		}
		stack.Parts = append(stack.Parts, picture.Part{Name: p.What, Value: p.Took.Seconds(), Text: words.Span(words.Tenth(p.Took))})
	}
	return stack
}

// A Happening is something that happened in a run, in words, and how often in a row.
type Happening struct {
	Event collection.Event // the first of them
	Times int
}

// Words says it: 33 gaps of details are owed: provider refuses it.
func (h Happening) Words() string {
	if h.Event.Gap == nil || h.Times == 1 {
		return EventWords(h.Event)
	}
	did := map[collection.EventKind]string{
		collection.GapOpened: "are owed", collection.GapClosed: "are filled", collection.GapRevived: "are tried again", collection.GapWaived: "were waived",
	}[h.Event.Kind]
	if h.Event.Kind == collection.GapOpened && h.Event.Gap.Reason.Settled() {
		did = "are not owed"
	}
	return fmt.Sprintf("%s gaps of %s %s: %s", words.Count(int64(h.Times)), words.Clean(h.Event.Stream), did, problem.Brief(h.Event.Gap.Reason))
}

// Happenings returns what happened, oldest first, but for what every run has. Gaps of
// one stream that one thing left in a row are one happening.
func (v RunView) Happenings() (all []Happening) {
	for _, e := range v.Events {
		switch e.Kind {
		case collection.RunStarted, collection.RunFinished, collection.LeaseTaken, collection.Progress:
			continue
		}
		if last := len(all) - 1; last >= 0 && sameGaps(all[last].Event, e) {
			all[last].Times++
			continue
		}
		all = append(all, Happening{e, 1})
	}
	return all
}

func sameGaps(a, b collection.Event) bool {
	return a.Kind == b.Kind && a.Stream == b.Stream && a.Gap != nil && b.Gap != nil && a.Gap.Reason == b.Gap.Reason
}

// Next says what goes on, and the commands for it.
func (v RunView) Next() (say string, commands []string) {
	command := func(verb, what string) string { return problem.Command(verb, what, v.Flags) }
	switch {
	case v.unsaid():
		return v.Status.Stands(v.Now).Next, nil
	case v.Outcome == collection.Running:
		return "it goes on; to see how it stands:", []string{command("status", v.Connector)}
	case v.Later != "":
		return "a later run went on:", []string{command("run-view", v.Later)}
	case v.Outcome == collection.Complete || v.Outcome == collection.NothingNew:
		return "", nil
	}
	if len(v.Owed) > 0 && OwedKinds(v.Owed)[collection.Stuck] > 0 {
		return "what needs you, and why:", []string{command("gaps", v.Connector)}
	}
	resume := command("resume", v.Connector)
	st := v.Status.Stands(v.Now)
	if st.Needs == problem.NeedsOperator {
		return st.Next + "; then:", []string{resume}
	}
	if v.Outcome == collection.Failed && !v.Status.Turn.IsZero() {
		return st.Next, nil
	}
	if at := v.NextAt(); !at.IsZero() {
		return fmt.Sprintf("no request leaves before %s; a run after that continues by itself:", words.At(at, v.Now)), []string{resume}
	}
	return "the next run continues by itself; to begin it now:", []string{resume}
}

// NextAt returns when something goes on; zero if a run may go on now, or if the run is
// not the newest.
func (v RunView) NextAt() time.Time {
	if v.Later != "" {
		return time.Time{}
	}
	st := v.Status.Stands(v.Now)
	return st.Until
}

// A RunViewLine is a view of a run in JSON.
type RunViewLine struct {
	RunLine
	Verdict  string          `json:"verdict"`
	Provider *string         `json:"provider"`
	Newest   bool            `json:"newest"`
	Time     []spentLine     `json:"time"` // where it went
	Events   []happeningLine `json:"events"`
	Owed     []GapLine       `json:"gaps"` // that the run opened, and that are still owed
	Next     *string         `json:"next"`
	NextAt   jsonout.Time    `json:"next_at"`
	Commands []string        `json:"commands"`
}

type spentLine struct {
	TimePart
	Seconds float64 `json:"seconds"`
}

type happeningLine struct {
	Time  jsonout.Time         `json:"ts"`
	Event collection.EventKind `json:"event"`
	Text  string               `json:"text"`
	Times int                  `json:"times"` // in a row
}

// Line returns the view for --json.
func (v RunView) Line() RunViewLine {
	next, commands := v.Next()
	line := RunViewLine{
		RunLine: RunLines([]collection.Run{v.Run})[0], Verdict: v.Verdict(), Newest: v.Later == "", Time: []spentLine{}, Events: []happeningLine{},
		Owed: GapLines(v.Owed), Next: jsonout.Text(next), NextAt: jsonout.Time(v.NextAt()), Commands: append([]string{}, commands...),
	}
	if a := v.Status.Account; a != nil {
		line.Provider = jsonout.Text(a.Provider)
	}
	for _, p := range v.summary().TimeParts() {
		line.Time = append(line.Time, spentLine{p, p.Took.Seconds()})
	}
	for _, h := range v.Happenings() {
		line.Events = append(line.Events, happeningLine{jsonout.Time(h.Event.Time), h.Event.Kind, h.Words(), h.Times})
	}
	return line
}
