package live

import (
	"cmp"
	"fmt"
	"strings"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/report/limit"
)

// The widths at which the block gives something up, and the height below
// which one line is all.
const (
	widthForBar   = 72
	widthForBlock = 50
	rowsForBlock  = 20
)

// Block returns the live block for a terminal of the given size: at most
// nine lines, none as wide as the terminal, so that none wraps.
func (f Frame) Block(columns, rows int, c term.Caps) []string {
	wide := columns >= widthForBar
	var lines []string
	if columns < widthForBlock || rows < rowsForBlock {
		lines = []string{oneLine(f)}
	} else {
		lines = []string{headLine(f), sliceLine(f, wide, c), recordLine(f)}
		lines = append(lines, rateLines(f, wide, c)...)
		lines = append(lines, requestLine(f, wide), breakerLine(f), endLine(f, wide), stopLine(f, wide))
	}
	for i, line := range lines {
		lines[i] = c.Text(term.Fit(strings.TrimRight(" "+line, " "), columns-1))
	}
	word, color := stateWord(f)
	lines[0] = strings.Replace(lines[0], word, c.Paint(color, word), 1)
	return lines
}

// stateWord returns the one word for what the run does, and its color.
func stateWord(f Frame) (word, color string) {
	switch {
	case f.Frozen:
		return "frozen", term.Red
	case f.Waiting > 0:
		return "waiting", term.Yellow
	case f.Stopping:
		return "stopping", term.Yellow
	}
	return "collecting", term.Green
}

func headLine(f Frame) string {
	word, _ := stateWord(f)
	line := words.Clean(f.Connector) + " · " + word
	switch {
	case f.Frozen:
		return line + fmt.Sprintf(": %s answered 403, all calls are stopped", words.Clean(f.Provider))
	case f.Waiting > 0:
		return line + " " + words.Span(words.CeilSecond(f.Waiting)) + ": " + waitWords(f)
	case f.Stream != "":
		return line + " " + words.Clean(f.Stream)
	}
	return line
}

// oneLine is all there is room for: what it does, and that it gets on.
func oneLine(f Frame) string {
	if f.Frozen || f.Waiting > 0 {
		return headLine(f)
	}
	word, _ := stateWord(f)
	return words.Clean(f.Connector) + " · " + word + " · " + savedWords(f) + " · " + words.Rate(f.RateNow)
}

// waitWords says why nothing is sent.
func waitWords(f Frame) string {
	provider := words.Clean(f.Provider)
	switch f.Cause {
	case collection.WaitRetryAfter:
		if f.Throttle.RetryAfter != nil {
			return fmt.Sprintf("%s asked us to (%s, Retry-After %s)", provider, words.Clean(f.Throttle.Signal), words.Decimal(*f.Throttle.RetryAfter))
		}
		return provider + " asked us to"
	case collection.WaitBreaker:
		return words.WithReason("the breaker is open, "+provider+" kept failing", words.Clean(f.Failure))
	case collection.WaitReserve:
		return provider + "'s quota is used up"
	case collection.WaitWindow:
		return "the ceiling for " + provider + " is used up"
	case collection.WaitBackoff:
		return "before a retry, because " + provider + " failed"
	}
	if _, pace, _ := f.Limit.OfRoute(); pace > 0 || f.Pace > 0 {
		return "pacing, " + words.Rate(cmp.Or(pace, f.Pace))
	}
	return "pacing"
}

func sliceLine(f Frame, wide bool, c term.Caps) string {
	const label = "slices    "
	t := f.Total
	if t.Parents == 0 {
		return label + fmt.Sprintf("%s saved · total unknown, %s does not say", words.Count(f.Slices), words.Clean(f.Provider))
	}
	most := ""
	if t.Passed > 0 && t.settled() < t.Parents {
		most = "at most "
	}
	text := fmt.Sprintf("%s of %s%s %s", words.Count(t.Done), most, words.Count(t.most()), words.Clean(t.Parent))
	if !t.Final {
		return label + text + " known so far"
	}
	text += " · " + words.Percent(min(t.settled(), t.Parents), t.Parents)
	if !wide {
		return label + text
	}
	return label + bar(min(t.settled(), t.Parents), t.Parents, 30, c) + " " + text
}

// savedWords counts the records that are stored: of all runs, or what this one
// added as long as the rest is not known.
func savedWords(f Frame) string {
	return words.Count(max(f.Saved, f.Changed)) + " saved"
}

func recordLine(f Frame) string {
	return fmt.Sprintf("records   %s · %s quarantined", savedWords(f), words.Count(f.Before+f.Rejected))
}

// learned returns the pace that was found: by the route that limits all requests, if there are several, or in all.
func (f Frame) learned() (route string, pace float64) {
	if route, _, found := f.Limit.OfRoute(); route != "" {
		return route, found
	}
	return "", f.Learned
}

func rateLines(f Frame, wide bool, c term.Caps) []string {
	route, pace := f.learned()
	paces := words.Rates(f.RateNow, pace, f.Ceiling)
	learned := "learned: not known yet"
	if pace > 0 {
		learned = "learned " + paces[1]
	}
	if route != "" {
		learned += " by route " + words.Clean(route)
	}
	if f.Ceiling > 0 {
		learned += " · ceiling " + paces[2]
	}
	now := paces[0]
	if name := limit.Name(&f.Limit); name != "" {
		now += ", limited by " + name
	}
	if !wide {
		return []string{
			"rate      " + f.Spark.Bars(12, c.UTF8) + " " + now,
			"          " + learned,
		}
	}
	return []string{
		"rate      " + f.Spark.Bars(30, c.UTF8) + " " + now,
		"          " + f.Spark.Marks(30, c.UTF8) + " " + learned,
	}
}

func requestLine(f Frame, wide bool) string {
	line := "requests  " + words.Count(f.Requests)
	if f.Cap > 0 {
		line += " of " + words.Count(f.Cap)
	}
	line += " · " + words.Counted(f.Throttled, "throttle", "throttles")
	if f.RetryCap > 0 && wide {
		line += fmt.Sprintf(" · retries left %s of %s", words.Count(int64(f.Retries)), words.Count(int64(f.RetryCap)))
	}
	return line
}

func breakerLine(f Frame) string {
	state := f.Breaker
	if state == "" {
		state = "closed"
	}
	line := fmt.Sprintf("breaker   %s · gaps opened %s", state, words.Count(f.Opened))
	if f.GapsShut > 0 {
		line += ", filled " + words.Count(f.GapsShut)
	}
	return line
}

func endLine(f Frame, wide bool) string {
	if f.Ends.In <= 0 {
		return "time left: not known yet"
	}
	in := words.Rough(f.Ends.In)
	near := ""
	if f.Ends.Near > 0 && wide {
		near = fmt.Sprintf(", near %s of %s %s", words.Count(f.Ends.Near), words.Count(f.Total.Parents), words.Clean(f.Total.Parent))
	}
	switch f.Ends.Reason {
	case collection.RequestCap:
		return "the request cap stops this run in " + in + near
	case collection.WallClock:
		return "the time limit stops this run in " + in + near
	case collection.Quota:
		return words.Clean(f.Provider) + "'s quota stops this run in " + in + near
	}
	return "time left: " + in
}

func stopLine(f Frame, wide bool) string {
	line, more := "ctrl-c stops after the current page", "; everything saved so far stays saved"
	if f.Stopping {
		line, more = "stopping after the current page", "; ctrl-c again stops now, that page replays"
	}
	if !wide {
		return line
	}
	return line + more
}
