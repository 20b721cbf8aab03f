package cmd

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

// A simulated is what a law made of providers of one family.
type simulated struct {
	Family sim.Family
	Law    string
	Trials []sim.Trial // by seed, from 1
}

// A score is what is said of all trials of a family under a law.
type score struct {
	Share, Least       float64 // of the work of the best client: mean, and of the worst trial
	Refused            float64 // of 1000 requests
	Refusals, Requests int
	Early, Banned      int
	Reached            float64 // seconds until 90 % of the work, the median; +Inf: never
	Latency            float64 // as a multiple of the best client's, the mean
}

func (r simulated) score() score {
	s := score{Least: 1}
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
	}
	s.Refused = 1000 * float64(s.Refusals) / float64(max(1, s.Requests))
	slices.Sort(reached)
	s.Reached = reached[len(reached)/2]
	return s
}

// chart returns the picture of the first trial.
func (r simulated) chart() chart {
	return chart{
		Title:   fmt.Sprintf("%s, law %s, seed 1", r.Family.Name, r.Law),
		About:   r.Family.About,
		Moments: r.Trials[0].Moments,
	}
}

// simulationText returns the scores as a table, and the picture of each law if
// there is one family.
func simulationText(results []simulated, setup sim.Setup, seeds, columns int, c caps) string {
	var lines []string
	say := func(text string) { lines = append(lines, wrap("", text, columns)...) }
	say(setupWords(setup, seeds))
	one := !slices.ContainsFunc(results, func(r simulated) bool { return r.Family.Name != results[0].Family.Name })
	if one {
		say("provider: " + results[0].Family.About)
	}
	lines = append(lines, "")
	t := table{
		Head:  []string{"FAMILY", "LAW", "WORK", "LEAST", "REFUSED", "90 % AFTER", "LATENCY", "EARLY", "BANNED"},
		Right: []int{2, 3, 4, 5, 6, 7, 8}, Drop: []int{6, 3, 5, 7, 1},
	}
	for _, r := range results {
		s := r.score()
		t.Rows = append(t.Rows, []string{
			r.Family.Name, r.Law, workShare(s.Share), workShare(s.Least), fmt.Sprintf("%.1f", s.Refused), reachedWords(s.Reached),
			fmt.Sprintf("x%.1f", s.Latency), count(int64(s.Early)), count(int64(s.Banned)),
		})
	}
	lines = append(lines, strings.TrimRight(t.render(columns, c), "\n"), "")
	say("work: of what the best possible client gets. refused: of 1,000 requests. early: requests while it had asked for silence.")
	if one {
		for _, r := range results {
			lines = append(lines, "", chartText(r.chart(), columns, c))
		}
	}
	for i, line := range lines {
		lines[i] = c.text(line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// setupWords says what the owner of the simulation allows.
func setupWords(s sim.Setup, seeds int) string {
	var allows []string
	for _, c := range s.Ceilings {
		allows = append(allows, ceilingWords(c))
	}
	switch {
	case s.Ceilings == nil:
		allows = []string{ceilingWords(collection.Ceiling{Count: sim.Ceiling, Per: time.Second})}
	case len(allows) == 0:
		allows = []string{"no ceiling, so what is earned"}
	}
	inFlight := s.Concurrency
	if inFlight == 0 {
		inFlight = sim.Workers
	}
	return fmt.Sprintf("you allow: %s; %d in flight. %s at %s.", strings.Join(allows, ", "), inFlight,
		span(s.For), counted(int64(seeds), "provider", "providers of each kind"))
}

// ceilingWords says a ceiling: 4 a second, 20,000 in 24 h.
func ceilingWords(c collection.Ceiling) string {
	switch c.Per {
	case time.Second:
		return count(int64(c.Count)) + " a second"
	case time.Minute:
		return count(int64(c.Count)) + " a minute"
	case time.Hour:
		return count(int64(c.Count)) + " an hour"
	case 24 * time.Hour:
		return count(int64(c.Count)) + " a day"
	}
	return fmt.Sprintf("%s in %s", count(int64(c.Count)), span(c.Per))
}

func workShare(s float64) string { return fmt.Sprintf("%.1f%%", math.Floor(1000*s)/10) }

func reachedWords(seconds float64) string {
	if math.IsInf(seconds, 1) {
		return "never"
	}
	return span(time.Duration(seconds) * time.Second)
}

// simulationLine is a score in JSON. What did not come about is null.
type simulationLine struct {
	Family   string       `json:"family"`
	About    string       `json:"about"`
	Law      string       `json:"law"`
	Seeds    int          `json:"seeds"`
	Share    float64      `json:"work_ratio"`
	Least    float64      `json:"least_work_ratio"`
	Refused  float64      `json:"refused_per_1000"`
	Refusals int          `json:"refusals"`
	Requests int          `json:"requests"`
	Early    int          `json:"early"`
	Banned   int          `json:"banned"`
	Reached  *float64     `json:"reached_seconds"`
	Latency  float64      `json:"latency_ratio"`
	Moments  []momentLine `json:"moments"`
}

type momentLine struct {
	From     float64 `json:"from_seconds"`
	Sent     float64 `json:"sent_per_second"`
	Answered float64 `json:"answered_per_second"`
	Refused  int     `json:"refused"`
	Limit    float64 `json:"limit_per_second"`
	Learned  float64 `json:"learned_per_second"`
}

// simulationJSON returns the scores with the moments of the first seed.
func simulationJSON(results []simulated) []simulationLine {
	lines := []simulationLine{}
	for _, r := range results {
		s := r.score()
		line := simulationLine{
			Family: r.Family.Name, About: r.Family.About, Law: r.Law, Seeds: len(r.Trials),
			Share: s.Share, Least: s.Least, Refused: s.Refused, Refusals: s.Refusals, Requests: s.Requests,
			Early: s.Early, Banned: s.Banned, Latency: s.Latency,
		}
		if !math.IsInf(s.Reached, 1) {
			line.Reached = &s.Reached
		}
		for _, m := range r.Trials[0].Moments {
			line.Moments = append(line.Moments, momentLine{m.From.Seconds(), m.Sent, m.Answered, m.Refused, m.Capacity, m.Pace})
		}
		lines = append(lines, line)
	}
	return lines
}
