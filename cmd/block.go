package cmd

import (
	"fmt"
	"strings"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
)

// The widths at which the block gives something up, and the height below
// which one line is all.
const (
	widthForBar   = 72
	widthForBlock = 50
	rowsForBlock  = 20
)

// render returns the live block for a terminal of the given size: at most
// nine lines, none as wide as the terminal, so that none wraps.
func render(m model, columns, rows int, c term.Caps) []string {
	wide := columns >= widthForBar
	var lines []string
	if columns < widthForBlock || rows < rowsForBlock {
		lines = []string{oneLine(m)}
	} else {
		lines = []string{headLine(m), sliceLine(m, wide, c), recordLine(m)}
		lines = append(lines, rateLines(m, wide, c)...)
		lines = append(lines, requestLine(m, wide), breakerLine(m), endLine(m, wide), stopLine(m, wide))
	}
	for i, line := range lines {
		lines[i] = c.Text(term.Fit(strings.TrimRight(" "+line, " "), columns-1))
	}
	word, color := stateWord(m)
	lines[0] = strings.Replace(lines[0], word, c.Paint(color, word), 1)
	return lines
}

// stateWord returns the one word for what the run does, and its color.
func stateWord(m model) (word, color string) {
	switch {
	case m.Frozen:
		return "frozen", term.Red
	case m.Waiting > 0:
		return "waiting", term.Yellow
	case m.Stopping:
		return "stopping", term.Yellow
	}
	return "collecting", term.Green
}

func headLine(m model) string {
	word, _ := stateWord(m)
	line := words.Clean(m.Connector) + " · " + word
	switch {
	case m.Frozen:
		return line + fmt.Sprintf(": %s answered 403, all calls are stopped", words.Clean(m.Provider))
	case m.Waiting > 0:
		return line + " " + words.Span(words.CeilSecond(m.Waiting)) + ": " + waitWords(m)
	case m.Stream != "":
		return line + " " + words.Clean(m.Stream)
	}
	return line
}

// oneLine is all there is room for: what it does, and that it gets on.
func oneLine(m model) string {
	if m.Frozen || m.Waiting > 0 {
		return headLine(m)
	}
	word, _ := stateWord(m)
	return words.Clean(m.Connector) + " · " + word + " · " + savedWords(m) + " · " + words.Rate(m.RateNow)
}

// waitWords says why nothing is sent.
func waitWords(m model) string {
	provider := words.Clean(m.Provider)
	switch m.Cause {
	case collection.WaitRetryAfter:
		if m.Throttle.RetryAfter != nil {
			return fmt.Sprintf("%s asked us to (%s, Retry-After %s)", provider, words.Clean(m.Throttle.Signal), words.Decimal(*m.Throttle.RetryAfter))
		}
		return provider + " asked us to"
	case collection.WaitBreaker:
		return words.WithReason("the breaker is open, "+provider+" kept failing", words.Clean(m.Failure))
	case collection.WaitReserve:
		return provider + "'s quota is used up"
	case collection.WaitWindow:
		return "the ceiling for " + provider + " is used up"
	case collection.WaitBackoff:
		return "before a retry, because " + provider + " failed"
	}
	if m.Pace > 0 {
		return "pacing, " + words.Rate(m.Pace)
	}
	return "pacing"
}

func sliceLine(m model, wide bool, c term.Caps) string {
	const label = "slices    "
	t := m.Total
	if t.Parents == 0 {
		return label + fmt.Sprintf("%s saved · total unknown, %s does not say", words.Count(m.Slices), words.Clean(m.Provider))
	}
	text := fmt.Sprintf("%s of %s %s", words.Count(t.Done), words.Count(t.Parents), words.Clean(t.Parent))
	if !t.Final {
		return label + text + " known so far"
	}
	text += " · " + words.Percent(t.Done, t.Parents)
	if !wide {
		return label + text
	}
	return label + bar(t.Done, t.Parents, 30, c) + " " + text
}

// savedWords counts the records that are stored: of all runs, or what this one
// added as long as the rest is not known.
func savedWords(m model) string {
	return words.Count(max(m.Saved, m.Changed)) + " saved"
}

func recordLine(m model) string {
	return fmt.Sprintf("records   %s · %s quarantined", savedWords(m), words.Count(m.Rejected))
}

func rateLines(m model, wide bool, c term.Caps) []string {
	paces := words.Rates(m.RateNow, m.Learned, m.Ceiling)
	learned := "learned: not known yet"
	if m.Learned > 0 {
		learned = "learned " + paces[1]
	}
	if m.Ceiling > 0 {
		learned += " · ceiling " + paces[2]
	}
	now := paces[0]
	if m.Limited != "" {
		now += ", limited by " + m.Limited
	}
	if !wide {
		return []string{
			"rate      " + spark(m.Cells, 12, c) + " " + now,
			"          " + learned,
		}
	}
	return []string{
		"rate      " + spark(m.Cells, 30, c) + " " + now,
		"          " + marks(m.Cells, 30, c) + " " + learned,
	}
}

func requestLine(m model, wide bool) string {
	line := "requests  " + words.Count(m.Requests)
	if m.Cap > 0 {
		line += " of " + words.Count(m.Cap)
	}
	line += " · " + words.Counted(m.Throttled, "throttle", "throttles")
	if m.RetryCap > 0 && wide {
		line += fmt.Sprintf(" · retries left %s of %s", words.Count(int64(m.Retries)), words.Count(int64(m.RetryCap)))
	}
	return line
}

func breakerLine(m model) string {
	state := m.Breaker
	if state == "" {
		state = "closed"
	}
	line := fmt.Sprintf("breaker   %s · gaps opened %s", state, words.Count(m.Opened))
	if m.GapsShut > 0 {
		line += ", filled " + words.Count(m.GapsShut)
	}
	return line
}

func endLine(m model, wide bool) string {
	if m.Ends.In <= 0 {
		return "time left: not known yet"
	}
	in := words.Rough(m.Ends.In)
	near := ""
	if m.Ends.Near > 0 && wide {
		near = fmt.Sprintf(", near %s of %s %s", words.Count(m.Ends.Near), words.Count(m.Total.Parents), words.Clean(m.Total.Parent))
	}
	switch m.Ends.Reason {
	case collection.RequestCap:
		return "the request cap stops this run in " + in + near
	case collection.WallClock:
		return "the time limit stops this run in " + in + near
	}
	return "time left: " + in
}

func stopLine(m model, wide bool) string {
	line, more := "ctrl-c stops after the current page", "; everything saved so far stays saved"
	if m.Stopping {
		line, more = "stopping after the current page", "; ctrl-c again stops now, that page replays"
	}
	if !wide {
		return line
	}
	return line + more
}
