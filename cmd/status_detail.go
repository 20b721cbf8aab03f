package cmd

import (
	"fmt"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/limit"
	"collect/report/problem"
	"collect/store"
)

// statusDetail returns one connector with its streams.
func statusDetail(s report.Status, now time.Time, columns int, c term.Caps) string {
	st := s.Stands(now)
	head := words.Clean(s.Name) + " · " + healthWords(st.State)
	if len(s.Runs) > 0 {
		head += runWords(s, now)
	}
	page := term.Page{Columns: columns, Label: 12}
	page.Say(head)
	page.Add("")

	t := term.Table{Head: []string{"  STREAM", "LANE", "RECORDS", "PARTITIONS DONE", "STATE", "SAVED"}, Right: []int{2, 3, 5}, Give: []int{0}, Drop: []int{3, 1}}
	for _, stream := range s.Streams {
		for i, lane := range lanesOf(stream) {
			row := []string{"  " + words.Clean(stream.Name), string(lane.Lane), words.Count(stream.Records), partitionWords(stream, lane), s.LaneWords(stream, lane, now), words.Ago(lane.SavedAt, now)}
			if i > 0 {
				row[0], row[2] = "", ""
			}
			t.Rows = append(t.Rows, row)
		}
	}
	page.Add(strings.TrimRight(t.Render(columns, c), "\n"), "")
	if s.Account != nil {
		page.Fact("provider", s.Account.Words(now))
		page.Fact("limited by", limit.Text(&s.Account.Pace, now))
		if !s.Account.Failure.At.IsZero() {
			page.Fact("breaker", report.FailureWords(s.Account.Failure, now))
		}
	}
	if run := s.Newest(); report.Unanswered(run) {
		page.Fact("last run", words.WithReason(report.NoneOf(run.Tally.Requests), report.LastTrouble(s.Owed)))
	}
	for _, stream := range s.Streams {
		for _, lane := range stream.Lanes {
			page.Fact("evidence", report.EvidenceWords(stream, lane))
		}
	}
	page.Fact("owed", owedWords(s))
	if quarantined := report.QuarantinedIn(s.Streams); quarantined > 0 {
		page.Fact("quarantine", words.Counted(quarantined, "record", "records")+", none dropped")
	}
	page.Fact("all runs", fmt.Sprintf("%s: %s, %s received, %s new or changed; throttled %s", words.Counted(int64(s.Count), "run", "runs"),
		words.Counted(s.All.Requests, "request", "requests"), words.Counted(s.All.Records, "record", "records"), words.Count(s.All.Changed), words.Counted(s.All.Throttled, "time", "times")))
	if st.Next != "nothing" {
		page.Fact("next", st.Next)
	}
	toRetry(&page, s.Owed, problem.RetryCommand(s.Name, s.Flags))
	return strings.Replace(page.Render(c), st.State.Words(), c.Paint(healthMarks[st.State].color, st.State.Words()), 1)
}

// runWords says what the newest run did, or does.
func runWords(s report.Status, now time.Time) string {
	run := s.Runs[0]
	if run.Outcome == collection.Running {
		text := fmt.Sprintf(" (run %s since %s, pid %d on %s", words.Clean(run.ID), words.At(run.StartedAt, now), run.Holder.PID, words.Clean(run.Holder.Host))
		seen := run.SeenAt()
		if s.Running(now) {
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
// them goes on, their number is not known.
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

func owedWords(s report.Status) string {
	text := report.OwedWords(s.Owed)
	if text == "none" {
		return "nothing"
	}
	return text + ": " + s.Command("gaps")
}
