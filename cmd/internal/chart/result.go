// Package chart shows what trials on models of providers gave: as a table, as a
// picture in text or SVG, and as JSON.
package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/words"
	"collect/pacing/sim"
)

// A Result is what a law made of providers of one family.
type Result struct {
	Family sim.Family
	Law    string
	Trials []sim.Trial // by seed, from 1
}

// A score is what is said of all trials of a family under a law.
type score struct {
	Share, Least       float64 // of the work of the best client: mean, and of the worst trial
	Refused            float64 // of 1000 requests
	Refusals, Requests int
	Begin              int // refusals in the first five minutes, the most
	Early, Banned      int
	Reached            float64 // seconds until 90 % of the work, the median; +Inf: never
	Latency            float64 // as a multiple of the best client's, the mean

	Asked time.Duration // from the end of an outage to the next request, the longest; negative: there was none

	First, Second, Slowest time.Duration // runs of a job: the mean, the mean, and the slowest after them
	OfSecond               float64       // the most that a slowest run took, in parts of its second
}

func (r Result) score() score {
	s := score{Least: 1, Asked: -1}
	var reached []float64
	for _, t := range r.Trials {
		n := float64(len(r.Trials))
		s.Share += t.Share / n
		s.Least = min(s.Least, t.Share)
		s.Latency += t.Latency / n
		s.Refusals += t.Refusals
		s.Requests += t.Requests
		s.Early += t.Early
		if t.Banned {
			s.Banned++
		}
		reached = append(reached, t.Reached)
		s.Begin = max(s.Begin, t.Begin)
		s.Asked = max(s.Asked, t.Asked)
		if len(t.Runs) > 0 {
			s.First += t.Runs[0].Took / time.Duration(n)
			s.Second += t.Runs[1].Took / time.Duration(n)
			slowest, ofSecond := sim.SlowestOf(t.Runs)
			s.Slowest, s.OfSecond = max(s.Slowest, slowest), max(s.OfSecond, ofSecond)
		}
	}
	s.Refused = 1000 * float64(s.Refusals) / float64(max(1, s.Requests))
	slices.Sort(reached)
	s.Reached = reached[len(reached)/2]
	return s
}

// SVG draws the first trial.
func (r Result) SVG() string { return r.picture().svg() }

// picture returns the picture of the first trial.
func (r Result) picture() picture {
	return picture{
		Title:   fmt.Sprintf("%s, law %s, seed 1", r.Family.Name, r.Law),
		About:   r.Family.About,
		Moments: r.Trials[0].Moments,
	}
}

// Text returns the scores as a table, and the picture of each law if
// there is one family.
func Text(results []Result, setup sim.Setup, seeds, columns int, c term.Caps) string {
	var lines []string
	say := func(text string) { lines = append(lines, term.Wrap("", text, columns)...) }
	say(setupWords(setup, seeds))
	one := !slices.ContainsFunc(results, func(r Result) bool { return r.Family.Name != results[0].Family.Name })
	if one {
		say("provider: " + results[0].Family.About)
	}
	lines = append(lines, "")
	t, legend := timeTable(results)
	if setup.Job.Requests > 0 {
		t, legend = jobTable(results)
	}
	lines = append(lines, strings.TrimRight(t.Render(columns, c), "\n"), "")
	say(legend)
	if one && setup.Job.Requests == 0 {
		for _, r := range results {
			lines = append(lines, "", r.picture().text(columns, c))
		}
	}
	for i, line := range lines {
		lines[i] = c.Text(line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// timeTable returns a row for each result of a time, and what its words mean.
func timeTable(results []Result) (t term.Table, legend string) {
	t = term.Table{
		Head:  []string{"FAMILY", "LAW", "WORK", "LEAST", "REFUSED", "AT FIRST", "90 % AFTER", "LATENCY", "EARLY", "BANNED"},
		Right: []int{2, 3, 4, 5, 6, 7, 8, 9, 10}, Drop: []int{7, 3, 6, 5, 8, 1},
	}
	legend = "work: of what the best possible client gets. refused: of 1,000 requests; at first: in five minutes, the most. " +
		"early: requests while it had asked for silence."
	outages := slices.ContainsFunc(results, func(r Result) bool { return r.score().Asked >= 0 })
	if outages {
		t.Head = append(t.Head, "BACK AFTER")
		legend += " back after: from the end of an outage to the next request."
	}
	for _, r := range results {
		s := r.score()
		row := []string{
			r.Family.Name, r.Law, workShare(s.Share), workShare(s.Least), fmt.Sprintf("%.1f", s.Refused), words.Count(int64(s.Begin)), reachedWords(s.Reached),
			fmt.Sprintf("x%.1f", s.Latency), words.Count(int64(s.Early)), words.Count(int64(s.Banned)),
		}
		switch {
		case outages && s.Asked >= 0:
			row = append(row, words.Span(s.Asked))
		case outages:
			row = append(row, "")
		}
		t.Rows = append(t.Rows, row)
	}
	return t, legend
}

// jobTable returns a row for each result of a job, and what its words mean.
func jobTable(results []Result) (t term.Table, legend string) {
	t = term.Table{
		Head:  []string{"FAMILY", "LAW", "FIRST", "SECOND", "SLOWEST", "RATIO", "WORK", "REFUSED", "EARLY", "BANNED"},
		Right: []int{2, 3, 4, 5, 6, 7, 8, 9}, Drop: []int{6, 8, 2, 1},
	}
	for _, r := range results {
		s := r.score()
		t.Rows = append(t.Rows, []string{
			r.Family.Name, r.Law, words.Span(s.First), words.Span(s.Second), words.Span(s.Slowest), fmt.Sprintf("x%.2f", s.OfSecond), workShare(s.Share),
			fmt.Sprintf("%.1f", s.Refused), words.Count(int64(s.Early)), words.Count(int64(s.Banned)),
		})
	}
	return t, "first, second: how long these runs took. slowest: the longest of those after them. ratio: that as a multiple of the second " +
		"run, the worst of all; less than a second counts as one. work: of what the best possible client gets. refused: of 1,000 requests. " +
		"early: requests while it had asked for silence."
}

// setupWords says what the owner of the simulation allows, and what is played.
func setupWords(s sim.Setup, seeds int) string {
	owner, inFlight := collection.Provider{Ceilings: []collection.Ceiling{{Count: sim.Ceiling, Per: time.Second}}}, cmp.Or(s.Concurrency, sim.Workers)
	if s.Owner != nil {
		owner, inFlight = *s.Owner, s.Owner.InFlight(s.Concurrency)
	}
	var allows []string
	for _, c := range owner.Ceilings {
		allows = append(allows, words.Ceiling(c))
	}
	if len(allows) == 0 {
		allows = []string{"no ceiling: the pace that is learned"}
	}
	what := words.Span(s.For)
	if s.Job.Requests > 0 {
		what = fmt.Sprintf("%s every %s, %s,", words.Counted(int64(s.Job.Requests), "request", "requests"), words.Span(s.Job.Every), words.Counted(int64(s.Job.Runs), "run", "runs"))
	}
	return fmt.Sprintf("you allow: %s; %d in flight. %s at %s.", strings.Join(allows, ", "), inFlight,
		what, words.Counted(int64(seeds), "provider", "providers of each kind"))
}

func workShare(s float64) string { return fmt.Sprintf("%.1f%%", math.Floor(1000*s)/10) }

func reachedWords(seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "never"
	}
	return words.Span(time.Duration(seconds) * time.Second)
}

// A resultLine is a score in JSON. What did not come about is null.
type resultLine struct {
	Family   string       `json:"family"`
	About    string       `json:"about"`
	Law      string       `json:"law"`
	Seeds    int          `json:"seeds"`
	Share    float64      `json:"work_ratio"`
	Least    float64      `json:"least_work_ratio"`
	Refused  float64      `json:"refused_per_1000"`
	Refusals int          `json:"refusals"`
	Requests int          `json:"requests"`
	Begin    int          `json:"refused_at_first"`
	Early    int          `json:"early"`
	Banned   int          `json:"banned"`
	Reached  *float64     `json:"reached_seconds"`
	Latency  float64      `json:"latency_ratio"`
	Asked    *float64     `json:"asked_again_seconds,omitempty"`
	OfSecond *float64     `json:"slowest_ratio,omitempty"`
	Runs     []runLine    `json:"runs,omitempty"`
	Moments  []momentLine `json:"moments,omitempty"`
}

type runLine struct {
	Took     float64 `json:"seconds"`
	Best     float64 `json:"best_seconds"`
	Requests int     `json:"requests"`
	Refused  int     `json:"refused"`
}

type momentLine struct {
	From     float64 `json:"from_seconds"`
	Sent     float64 `json:"sent_per_second"`
	Answered float64 `json:"answered_per_second"`
	Refused  int     `json:"refused"`
	Limit    float64 `json:"limit_per_second"`
	Learned  float64 `json:"learned_per_second"`
}

// JSON returns the scores with the moments, or the runs, of the first
// seed.
func JSON(results []Result) []resultLine {
	lines := []resultLine{}
	for _, r := range results {
		s := r.score()
		line := resultLine{
			Family: r.Family.Name, About: r.Family.About, Law: r.Law, Seeds: len(r.Trials),
			Share: s.Share, Least: s.Least, Refused: s.Refused, Refusals: s.Refusals, Requests: s.Requests,
			Begin: s.Begin, Early: s.Early, Banned: s.Banned, Latency: s.Latency,
		}
		if !math.IsInf(s.Reached, 1) {
			line.Reached = &s.Reached
		}
		if s.Asked >= 0 {
			asked := s.Asked.Seconds()
			line.Asked = &asked
		}
		if s.OfSecond > 0 {
			line.OfSecond = &s.OfSecond
		}
		for _, run := range r.Trials[0].Runs {
			line.Runs = append(line.Runs, runLine{run.Took.Seconds(), run.Best.Seconds(), run.Requests, run.Refusals})
		}
		for _, m := range r.Trials[0].Moments {
			line.Moments = append(line.Moments, momentLine{m.From.Seconds(), m.Sent, m.Answered, m.Refused, m.Capacity, m.Pace})
		}
		lines = append(lines, line)
	}
	return lines
}
