package cmd

import (
	"fmt"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report"
	"collect/report/limit"
	"collect/report/problem"
	"collect/store"
)

// statusDetail returns one connector with its streams.
func statusDetail(s connectorStatus, now time.Time, columns int, c term.Caps) string {
	st := s.stands(now)
	head := words.Clean(s.Name) + " · " + st.State.String()
	if len(s.Runs) > 0 {
		head += runWords(s, now)
	}
	lines := term.Wrap("", head, columns)
	for i := range lines {
		lines[i] = c.Text(lines[i])
	}
	lines[0] = strings.Replace(lines[0], st.State.words(), c.Paint(st.State.color(), st.State.words()), 1)
	lines = append(lines, "")

	t := term.Table{Head: []string{"  STREAM", "LANE", "RECORDS", "PARTITIONS DONE", "STATE", "SAVED"}, Right: []int{2, 3, 5}, Give: []int{0}, Drop: []int{3, 1}}
	for _, stream := range s.Streams {
		for i, lane := range lanesOf(stream) {
			row := []string{"  " + words.Clean(stream.Name), string(lane.Lane), words.Count(stream.Records), partitionWords(stream, lane), s.laneWords(stream, lane, now), words.Ago(lane.SavedAt, now)}
			if i > 0 {
				row[0], row[2] = "", ""
			}
			t.Rows = append(t.Rows, row)
		}
	}
	lines = append(lines, strings.TrimRight(t.Render(columns, c), "\n"))
	lines = append(lines, "")
	fact := func(label, text string) {
		for _, line := range term.Wrap(fmt.Sprintf("  %-10s  ", label), text, columns) {
			lines = append(lines, c.Text(line))
		}
	}
	if s.Account != nil {
		fact("provider", s.Account.words(now))
		if text := limit.Text(&s.Account.Pace, now); text != "" {
			fact("limited by", text)
		}
		if !s.Account.Failure.At.IsZero() {
			fact("breaker", failureWords(s.Account.Failure, now))
		}
	}
	if run := s.newest(); unanswered(run) {
		fact("last run", words.WithReason(noneOf(run.Tally.Requests), lastTrouble(s.Owed)))
	}
	for _, stream := range s.Streams {
		for _, lane := range stream.Lanes {
			if words := evidenceWords(stream, lane); words != "" {
				fact("evidence", words)
			}
		}
	}
	fact("owed", owedWords(s))
	if quarantined := quarantinedIn(s.Streams); quarantined > 0 {
		fact("quarantine", words.Counted(quarantined, "record", "records")+", none dropped")
	}
	fact("all runs", fmt.Sprintf("%s: %s, %s received, %s new or changed; throttled %s", words.Counted(int64(s.Count), "run", "runs"),
		words.Counted(s.All.Requests, "request", "requests"), words.Counted(s.All.Records, "record", "records"), words.Count(s.All.Changed), words.Counted(s.All.Throttled, "time", "times")))
	if st.Next != "nothing" {
		fact("next", st.Next)
	}
	if len(leftToYou(s.Owed)) > 0 {
		fact("then", settled)
		fact("", problem.RetryCommand(s.Name, s.Flags))
	}
	return strings.Join(lines, "\n") + "\n"
}

// newest returns the newest run; the zero run if there is none.
func (s connectorStatus) newest() collection.Run {
	if len(s.Runs) == 0 {
		return collection.Run{}
	}
	return s.Runs[0]
}

// runWords says what the newest run did, or does.
func runWords(s connectorStatus, now time.Time) string {
	run := s.Runs[0]
	if run.Outcome == collection.Running {
		text := fmt.Sprintf(" (run %s since %s, pid %d on %s", words.Clean(run.ID), words.At(run.StartedAt, now), run.Holder.PID, words.Clean(run.Holder.Host))
		seen := run.SeenAt()
		if s.running(now) {
			return text + ", alive " + words.Ago(seen, now) + ")"
		}
		return text + ", no sign of life for " + words.Span(now.Sub(seen).Truncate(time.Second)) + ")"
	}
	if run.Outcome == collection.Abandoned {
		return fmt.Sprintf(" (run %s: its process died after %s)", words.Clean(run.ID), words.At(run.SeenAt(), now))
	}
	text := fmt.Sprintf(" (run %s %s %s", words.Clean(run.ID), outcomeWords(run.Outcome), words.Ago(run.EndedAt, now))
	if run.Reason != "" {
		text += ": " + problem.Brief(run.Reason)
	}
	return text + ")"
}

// outcomeWords says an outcome in the words of the summary.
func outcomeWords(o collection.Outcome) string {
	switch o {
	case collection.Deferred:
		return "paused"
	case collection.NothingNew:
		return "found nothing new"
	}
	return string(o)
}

func lanesOf(stream store.StreamState) []store.LaneState {
	if len(stream.Lanes) == 0 {
		return []store.LaneState{{Lane: collection.Incremental}}
	}
	return stream.Lanes
}

// partitionWords counts the partitions that are done. As long as a walk over
// them goes on, nobody knows how many there are.
func partitionWords(stream store.StreamState, lane store.LaneState) string {
	if stream.Parent == "" || lane.Partitions == 0 && !lane.Complete {
		return ""
	}
	text := fmt.Sprintf("%s of %s", words.Count(lane.Done), words.Count(lane.Partitions))
	if !lane.Complete {
		text += " so far"
	}
	return text
}

func (s connectorStatus) laneWords(stream store.StreamState, lane store.LaneState, now time.Time) string {
	owed := s.owedIn(stream.Name, lane.Lane)
	text := "under way"
	switch {
	case lane.SavedAt.IsZero() && owed == 0 && !s.selects(stream.Name):
		return "not selected"
	case lane.SavedAt.IsZero() && owed == 0:
		return "not begun"
	case lane.Complete && owed == 0 && s.unseen(stream, lane):
		return "complete as of " + words.At(lane.Began, now)
	case lane.Complete && owed == 0:
		return "complete"
	case lane.Complete:
		return words.Count(int64(owed)) + " owed"
	case owed > 0:
		text += ", " + words.Count(int64(owed)) + " owed"
	}
	return text
}

// quarantineWords says how many records are in quarantine.
func quarantineWords(n int64) string {
	if n == 1 {
		return "1 record is in quarantine"
	}
	return words.Count(n) + " records are in quarantine"
}

func (a accountStatus) words(now time.Time) string {
	text := words.Clean(a.Provider)
	if a.Learned > 0 {
		text += " · learned " + words.Rates(a.Learned, a.Ceiling)[0]
	} else {
		text += " · learned rate: not known, no signal yet"
	}
	if a.Ceiling > 0 {
		text += " · ceiling " + words.Rates(a.Learned, a.Ceiling)[1]
	}
	breaker := a.Breaker
	if breaker == "" {
		breaker = "closed"
	}
	text += " · breaker " + breaker
	if a.Forced {
		text += " (held by an operator)"
	}
	if a.Frozen {
		text += " · frozen"
	}
	if a.Until.After(now) {
		text += " · no request before " + words.At(a.Until, now)
	}
	return text
}

func owedWords(s connectorStatus) string {
	text := summary{Owed: s.Owed}.gapWords()
	if text == "none" {
		return "nothing"
	}
	return text + ": " + s.command("gaps")
}

func quarantinedIn(streams []store.StreamState) (n int64) {
	for _, stream := range streams {
		n += stream.Quarantined
	}
	return n
}

// statusLine is a connector in JSON. What is not known is null.
type statusLine struct {
	Connector   string       `json:"connector"`
	State       health       `json:"state"`
	Needs       string       `json:"needs"`
	ExitCode    int          `json:"exit_code"` // of --check
	Next        string       `json:"next"`
	WaitCause   *string      `json:"wait_cause"`
	WaitUntil   jsonout.Time `json:"wait_until"`
	Run         *string      `json:"run_id"`
	Outcome     *string      `json:"last_outcome"`
	SavedAt     jsonout.Time `json:"saved_at"`
	Complete    int          `json:"streams_complete"`
	Owed        int          `json:"gaps_owed"`
	Gone        int          `json:"gone"`
	Quarantined int64        `json:"records_quarantined"`
	Overall     tallyLine    `json:"overall"`
	Streams     []streamLine `json:"streams"`
	Provider    *accountLine `json:"provider"`

	Metrics *accountMetrics `json:"metrics"` // of the newest run, as of its last sign of life
}

type streamLine struct {
	Stream      string     `json:"stream"`
	Selected    bool       `json:"selected"`
	Parent      *string    `json:"parent"`
	Records     int64      `json:"records"`
	Quarantined int64      `json:"records_quarantined"`
	View        *string    `json:"view"`
	Lanes       []laneLine `json:"lanes"`
}

type laneLine struct {
	Lane       collection.Lane `json:"lane"`
	Complete   bool            `json:"complete"`
	Partitions int64           `json:"partitions"`
	Done       int64           `json:"partitions_done"`
	AsOf       jsonout.Time    `json:"complete_as_of"` // when its walk began
	Unseen     bool            `json:"unseen"`         // an earlier run began the walk; changes since then are left to the next run
	SavedAt    jsonout.Time    `json:"saved_at"`
	Owed       int             `json:"gaps_owed"`
	Digest     *string         `json:"checkpoint_digest"`
	Evidence   *evidenceLine   `json:"evidence"` // null: the stream's own walk did not begin
}

type accountLine struct {
	Provider string       `json:"provider"`
	Learned  *float64     `json:"learned_per_second"`
	Ceiling  *float64     `json:"ceiling_per_second"`
	Breaker  *string      `json:"breaker"`
	Forced   bool         `json:"breaker_forced"`
	Failure  *string      `json:"breaker_opened_by"`
	Frozen   bool         `json:"frozen"`
	Until    jsonout.Time `json:"held_until"`

	Limit  *report.Constraint `json:"limit"`            // what limits the pace; null: nothing is known to
	Shared bool               `json:"from_shared_pace"` // newer than the database
}

// statusJSON returns the connectors for --json; an empty list is [].
func statusJSON(all []connectorStatus, now time.Time) []statusLine {
	lines := []statusLine{}
	for _, s := range all {
		overall := tallyLineOf(s.All)
		overall.Runs = &s.Count
		st := s.stands(now)
		line := statusLine{
			Connector: s.Name, State: st.State, Needs: st.Needs, ExitCode: st.Code, Next: st.Next,
			WaitCause: jsonout.Text(string(st.Cause)), WaitUntil: jsonout.Time(st.Until), SavedAt: jsonout.Time(s.savedAt()), Complete: s.complete(),
			Owed: owedCount(s.Owed), Gone: len(s.Owed) - owedCount(s.Owed), Quarantined: quarantinedIn(s.Streams),
			Overall: overall, Streams: []streamLine{},
		}
		if len(s.Runs) > 0 {
			line.Metrics = accountMetricsOf(s.Runs[0])
			line.Run, line.Outcome = &s.Runs[0].ID, jsonout.Text(string(s.Runs[0].Outcome))
		}
		for _, stream := range s.Streams {
			line.Streams = append(line.Streams, s.streamLineOf(stream))
		}
		if a := s.Account; a != nil {
			line.Provider = &accountLine{a.Provider, jsonout.OrNull(a.Learned), jsonout.OrNull(a.Ceiling), jsonout.Text(a.Breaker), a.Forced, jsonout.Text(a.Failure.Why), a.Frozen, jsonout.Time(a.Until), report.Limit(&a.Pace), a.Shared}
		}
		lines = append(lines, line)
	}
	return lines
}

func (s connectorStatus) streamLineOf(of store.StreamState) streamLine {
	line := streamLine{of.Name, s.selects(of.Name), jsonout.Text(of.Parent), of.Records, of.Quarantined, jsonout.Text(of.View), []laneLine{}}
	for _, l := range of.Lanes {
		asOf := time.Time{}
		if l.Complete {
			asOf = l.Began
		}
		line.Lanes = append(line.Lanes, laneLine{l.Lane, l.Complete, l.Partitions, l.Done, jsonout.Time(asOf), s.unseen(of, l), jsonout.Time(l.SavedAt), s.owedIn(of.Name, l.Lane), jsonout.Text(l.Digest), evidenceLineOf(l.Evidence)})
	}
	return line
}
