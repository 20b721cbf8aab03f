package chart

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/texttest"
	"collect/pacing/sim"
)

// tried is a trial of two hours whose limit falls to a half, with refusals
// then.
func tried() Result {
	var moments []sim.Moment
	for i := range Moments {
		m := sim.Moment{From: time.Duration(i) * time.Minute, Sent: 4, Answered: 4, Capacity: 5, Pace: 4}
		switch {
		case i == 60:
			m.Sent, m.Answered, m.Refused = 4, 1, 14
		case i > 60:
			m.Sent, m.Answered, m.Capacity = 2.25, 2, 2.5
		}
		if i == 80 {
			m.Refused = 2
		}
		moments = append(moments, m)
	}
	return Result{
		Family: sim.Family{Name: "step", About: "token bucket that falls, bare 429"}, Law: "plateau",
		Trials: []sim.Trial{
			{Score: sim.Score{Share: 0.9299, Refusals: 16, Requests: 20000, Reached: 90, Latency: 1}, Begin: 4, Moments: moments, Asked: -1},
			{Score: sim.Score{Share: 0.8, Refusals: 4, Requests: 20000, Early: 3, Banned: true, Reached: math.Inf(1), Latency: 2}, Asked: -1},
		},
	}
}

func TestSimulationText(t *testing.T) {
	setup := sim.Setup{For: 2 * time.Hour, Concurrency: 1, Owner: &collection.Provider{Ceilings: []collection.Ceiling{
		{Count: 4, Per: time.Second}, {Count: 20000, Per: 24 * time.Hour}, {Count: 3, Per: 10 * time.Second}}}}
	texttest.Same(t, "80 columns", Text([]Result{tried()}, setup, 2, 80, term.Caps{UTF8: true}), `you allow: 4 a second, 20,000 a day, 3 in 10 s; 1 in flight. 2 h at 2 providers
of each kind.
provider: token bucket that falls, bare 429

FAMILY  LAW       WORK  LEAST  REFUSED  AT FIRST  90 % AFTER  EARLY  BANNED
step    plateau  86.4%  80.0%      0.5         4       never      3       1

work: of what the best possible client gets. refused: of 1,000 requests; at
first: in five minutes, the most. early: requests while it had asked for
silence.

 step, law plateau, seed 1 (token bucket that falls, bare 429)
    5.0/s │───────────────────────────────────
          │▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃
          │██████████████████████████████████
          │██████████████████████████████████ ─────────────────────────────────
    2.5/s │██████████████████████████████████ ▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂▂
          │██████████████████████████████████ █████████████████████████████████
          │██████████████████████████████████▅█████████████████████████████████
          │████████████████████████████████████████████████████████████████████
        0 └────────────────────────────────────────────────────────────────────
   refused ··································×··········2······················
           0                                                                2 h
 bars: answered. ──: the limit. refused: a digit for each time, × for ten or
 more.
`)
	texttest.Same(t, "50 columns, ASCII", Text([]Result{tried()}, sim.Setup{For: time.Hour}, 1, 50, term.Caps{}), `you allow: 20 a second; 32 in flight. 60 min at 1
provider.
provider: token bucket that falls, bare 429

FAMILY  LAW       WORK  REFUSED  EARLY  BANNED
step    plateau  86.4%      0.5      3       1

work: of what the best possible client gets.
refused: of 1,000 requests; at first: in five
minutes, the most. early: requests while it had
asked for silence.

 step, law plateau, seed 1 (token bucket that
 falls, bare 429)
    5.0/s |-------------------
          |...................
          |###################-
          |################### ------------------
    2.5/s |################### ..................
          |###################:##################
          |######################################
          |######################################
        0 +--------------------------------------
   refused ...................x.....2............
           0                                  2 h
 bars: answered. --: the limit. refused: a digit
 for each time, x for ten or more.
`)
}

// Several families are a table without a picture.
func TestSimulationOfSeveral(t *testing.T) {
	other := tried()
	other.Family.Name = "bucket"
	got := Text([]Result{tried(), other}, sim.Setup{For: time.Hour}, 2, 80, term.Caps{UTF8: true})
	if strings.Contains(got, "│") || !strings.Contains(got, "\nbucket ") {
		t.Errorf("a table of two families:\n%s", got)
	}
}

// A job is a table of its runs, and an outage has a column of its own.
func TestSimulationOfAJob(t *testing.T) {
	job := Result{Family: sim.Family{Name: "bucket", About: "token bucket, bare 429"}, Law: "plateau", Trials: []sim.Trial{
		{Score: sim.Score{Share: 0.9, Refusals: 3, Requests: 18003}, Asked: -1, Runs: []sim.Run{{Took: 90 * time.Second}, {Took: 40 * time.Second}, {Took: 50 * time.Second}}},
		{Score: sim.Score{Share: 0.8, Refusals: 0, Requests: 18000}, Asked: -1, Runs: []sim.Run{{Took: 70 * time.Second}, {Took: 200 * time.Millisecond}, {Took: 800 * time.Millisecond}}},
	}}
	setup := sim.Setup{Job: sim.Schedule{Requests: 600, Every: 24 * time.Hour, Runs: 30}}
	texttest.Same(t, "a job", Text([]Result{job}, setup, 2, 80, term.Caps{UTF8: true}), `you allow: 20 a second; 32 in flight. 600 requests every 24 h, 30 runs, at 2
providers of each kind.
provider: token bucket, bare 429

FAMILY  LAW      FIRST  SECOND  SLOWEST  RATIO   WORK  REFUSED  EARLY  BANNED
bucket  plateau   80 s    20 s     50 s  x1.25  85.0%      0.1      0       0

first, second: how long these runs took. slowest: the longest of those after
them. ratio: that as a multiple of the second run, the worst of all; less than a
second counts as one. work: of what the best possible client gets. refused: of
1,000 requests. early: requests while it had asked for silence.
`)
	raw, err := json.Marshal(JSON([]Result{job})[0].Runs[1])
	if err != nil || string(raw) != `{"seconds":40,"best_seconds":0,"requests":0,"refused":0}` {
		t.Errorf("run in JSON: %s, %v", raw, err)
	}
	away := tried()
	away.Trials[1].Asked = 75 * time.Second
	if got := Text([]Result{away}, sim.Setup{For: time.Hour}, 2, 200, term.Caps{}); !strings.Contains(got, "BACK AFTER\n") || !strings.Contains(got, "  75 s\n") {
		t.Errorf("after an outage:\n%s", got)
	}
}

func TestSimulationJSON(t *testing.T) {
	raw, err := json.Marshal(JSON([]Result{tried()}))
	if err != nil {
		t.Fatal(err)
	}
	head, moments, _ := strings.Cut(string(raw), `"moments":[`)
	texttest.Same(t, "json", head, `[{"family":"step","about":"token bucket that falls, bare 429","law":"plateau","seeds":2,`+
		`"work_ratio":0.86495,"least_work_ratio":0.8,"refused_per_1000":0.5,"refusals":20,"requests":40000,"refused_at_first":4,"early":3,"banned":1,`+
		`"reached_seconds":null,"latency_ratio":1.5,`)
	if want := `{"from_seconds":0,"sent_per_second":4,"answered_per_second":4,"refused":0,"limit_per_second":5,"learned_per_second":4}`; !strings.HasPrefix(moments, want) {
		t.Errorf("moments = %.200s, want %s first", moments, want)
	}
}

// The picture is XML that stands alone, has its words for who cannot see it,
// text that can be read, and no foreign word as markup.
func TestChartSVG(t *testing.T) {
	c := tried().picture()
	c.About = `a <b> & "c"`
	svg := c.svg()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	seen := map[string]int{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		seen[start.Name.Local]++
		for _, attr := range start.Attr {
			switch name := attr.Name.Local; {
			case name == "style", name == "href", strings.HasPrefix(name, "on"):
				t.Errorf("<%s %s=%q>", start.Name.Local, name, attr.Value)
			}
		}
	}
	for name, want := range map[string]int{"title": 1, "desc": 1, "path": 4, "script": 0, "b": 0} {
		if seen[name] != want {
			t.Errorf("%d of <%s>, want %d", seen[name], name, want)
		}
	}
	for _, want := range []string{"prefers-color-scheme:dark", "16 requests were refused in 2 h", `role="img"`, "5.0/s"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not in\n%s", want, svg)
		}
	}
	for _, size := range regexp.MustCompile(`font:(\d+)px`).FindAllStringSubmatch(svg, -1) {
		if n, _ := strconv.Atoi(size[1]); n < 11 || n > 16 {
			t.Errorf("text of %s px", size[1])
		}
	}
	if n := strings.Count(svg, "NaN") + strings.Count(svg, "Inf"); n > 0 {
		t.Errorf("%d numbers that are none in\n%s", n, svg)
	}
}

// Nothing answered and no limit is a picture, too.
func TestEmptyChart(t *testing.T) {
	for _, c := range []picture{{}, {Moments: make([]sim.Moment, 1)}, {Moments: make([]sim.Moment, 500)}} {
		if svg := c.svg(); strings.Contains(svg, "NaN") {
			t.Errorf("%d moments: %s", len(c.Moments), svg)
		}
		for line := range strings.Lines(c.text(80, term.Caps{UTF8: true})) {
			if term.Width(strings.TrimRight(line, "\n")) > 80 {
				t.Errorf("%d moments: %q is too wide", len(c.Moments), line)
			}
		}
	}
}
