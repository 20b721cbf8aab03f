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
		head += s.RunWords(now)
	}
	page := term.Page{Columns: columns, Label: 12}
	page.Say(head)
	page.Add("")

	t := term.Table{Head: []string{"  STREAM", "LANE", "RECORDS", "PARTITIONS DONE", "STATE", "SAVED"}, Right: []int{2, 3, 5}, Give: []int{0}, Drop: []int{3, 1}}
	for _, stream := range s.Streams {
		for i, lane := range lanesOf(stream) {
			row := []string{"  " + words.Clean(stream.Name), string(lane.Lane), words.Count(stream.Living()), report.PartitionWords(stream, lane), s.LaneWords(stream, lane, now), words.Ago(lane.SavedAt, now)}
			if i > 0 {
				row[0], row[2] = "", ""
			}
			t.Rows = append(t.Rows, row)
		}
	}
	page.Add(strings.TrimRight(t.Render(columns, c), "\n"), "")
	if s.Account != nil {
		page.Fact("provider", s.AccountWords(now))
		for i := range s.Accounts {
			page.Fact("token", words.Clean(s.Accounts[i].From)+": "+s.Accounts[i].TurnWords(now))
		}
		page.Fact("limited by", s.LimitWords(now))
		page.Fact("latest", limit.Failures(&s.Account.Pace))
		if !s.Account.Failure.At.IsZero() {
			page.Fact("breaker", report.FailureWords(s.Account.Failure, now))
		}
	}
	if shared := s.SharingWords(); shared != "" {
		page.Fact("account", shared)
	} else if s.Account != nil && s.Running(now) {
		page.Fact("account", limit.Shared(&s.Account.Pace))
	}
	if run := s.Newest(); report.Unanswered(run) {
		page.Fact("last run", words.WithReason(report.NoneOf(run.Tally.Requests), report.LastTrouble(s.Owed)))
	}
	for _, stream := range s.Streams {
		for _, lane := range stream.Lanes {
			if covered := s.CoverageOf(stream, lane); covered != nil {
				of := ": "
				if stream.Parent == "" {
					of = ", newest walk: "
				}
				page.Fact("covered", words.Clean(stream.Name)+laneName(lane.Lane)+of+covered.Words())
			}
		}
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
	if deleted := report.DeletedIn(s.Streams); deleted > 0 {
		page.Fact("deleted", words.Counted(deleted, "record", "records")+" by the provider, with their data kept")
	}
	asOf := "" // a run that works stores its counts every few seconds
	if run := s.Newest(); s.Running(now) {
		asOf = ", as of " + words.Ago(run.SeenAt(), now)
	}
	page.Fact("all runs", fmt.Sprintf("%s: %s, %s received, %s new or changed; throttled %s%s", words.Counted(int64(s.Count), "run", "runs"),
		words.Counted(s.All.Requests, "request", "requests"), words.Counted(s.All.Records, "record", "records"), words.Count(s.All.Changed), words.Counted(s.All.Throttled, "time", "times"), asOf))
	if st.Next != "nothing" {
		next := st.Next
		if st.State == report.Collecting && st.Needs == problem.NeedsNothing && st.Cause == "" {
			next = "the run goes on; it was " + next
			if s.Refuses() {
				next = "the run asks again, one request at a time, until one succeeds; it was " + st.Next
			}
		}
		page.Fact("next", next)
	}
	toRetry(&page, s.Owed, problem.RetryCommand(s.Name, s.Flags))
	return strings.Replace(page.Render(c), st.State.Words(), c.Paint(healthColors[st.State], st.State.Words()), 1)
}

func lanesOf(stream store.StreamState) []store.LaneState {
	if len(stream.Lanes) == 0 {
		return []store.LaneState{{Lane: collection.Incremental}}
	}
	return stream.Lanes
}

func owedWords(s report.Status) string {
	text := report.OwedWords(s.Owed)
	if text == "none" {
		return "nothing"
	}
	return text + ": " + s.Command("gaps")
}

// laneName names a lane beside its stream, unless it is the usual one.
func laneName(lane collection.Lane) string {
	if lane == collection.Backfill {
		return " (backfill)"
	}
	return ""
}
