package cmd

import (
	"fmt"
	"strings"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/report"
	"collect/report/limit"
	"collect/report/problem"
)

// renderSummary returns the summary for people, verdict first.
func renderSummary(s report.Summary, columns int, c term.Caps) string {
	page := term.Page{Columns: max(40, min(columns, 80)), Label: 12}
	page.Say(s.Verdict())
	pair := func(label, this, all string) {
		page.Add(fmt.Sprintf("  %-10s  %-16s  %s", label, this, all))
	}
	page.Add("")
	pair("", "this run", allRuns(s.Runs))
	pair("slices", words.Count(s.This.Slices), words.Count(s.All.Slices))
	pair("received", words.Count(s.This.Records), words.Count(s.All.Records))
	pair("changed", words.Count(s.This.Changed), words.Count(s.All.Changed))
	if s.All.Rejected > 0 {
		pair("quarantine", words.Count(s.This.Rejected), words.Count(s.All.Rejected))
	}
	if s.All.Older > 0 {
		pair("older", words.Count(s.This.Older)+" not stored", words.Count(s.All.Older)+" not stored")
	}
	if s.All.Deleted > 0 {
		pair("deleted", words.Count(s.This.Deleted)+" marked", words.Count(s.All.Deleted)+" marked")
	}
	pair("requests", words.Count(s.This.Requests), words.Count(s.All.Requests))
	pair("throttled", words.Counted(s.This.Throttled, "time", "times"), words.Counted(s.All.Throttled, "time", "times"))
	page.Add("")

	page.Fact("time", s.TimeWords())
	page.Fact("rate", s.RateWords())
	if k := s.Limit.Limit(); s.This.Requests > 0 || k != nil && k.Blocks { // no pace limits what sent nothing
		page.Fact("limited by", limit.AtWork(&s.Limit, s.At()))
	}
	if s.This.Requests > 0 {
		page.Fact("latest", limit.Failures(&s.Limit))
		page.Fact("account", limit.Shared(&s.Limit))
	}
	for i := range s.Accounts {
		page.Fact("token", words.Clean(s.Accounts[i].From)+": "+s.Accounts[i].TurnWords(s.At()))
	}
	page.Fact("gaps", s.GapWords())
	page.Fact("saved to", s.SavedWords())
	if next := s.Next(); next != "" {
		page.Add("")
		page.Fact("next", next)
	}
	toRetry(&page, s.Owed, problem.RetryCommand(s.Connector, s.Flags))
	word, rest, _ := strings.Cut(page.Render(c), ":")
	return c.Paint(outcomeColor(s.Outcome), word) + ":" + rest
}

func allRuns(n int) string {
	if n == 1 {
		return "all runs (1)"
	}
	return fmt.Sprintf("all %s runs", words.Count(int64(n)))
}

func outcomeColor(o collection.Outcome) string {
	switch o {
	case collection.Complete, collection.NothingNew:
		return term.Green
	case collection.Blocked, collection.Failed, collection.Abandoned:
		return term.Red
	case collection.Waiting:
		return term.Yellow
	}
	return ""
}
