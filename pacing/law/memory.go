package law

import (
	"math"
	"time"
)

// A Memory is what a law hands on to a later process, as JSON.
type Memory struct {
	Interval time.Duration `json:"interval_ns,omitempty"` // learned, and never worse than the start but where the provider announces less
	HeardAt  time.Time     `json:"heard_at,omitzero"`     // when the provider last confirmed it
	By       Limit         `json:"limited_by,omitempty"`  // what keeps it from being faster
	Plateau  *keptPlateau  `json:"plateau,omitempty"`
}

// Forgive forgets that a pace was forbidden: a person said that it is settled.
func (m *Memory) Forgive() {
	if m.Plateau != nil {
		m.Plateau.Banned, m.Plateau.Held, m.Plateau.Age = 0, 0, 0
		if m.By == Ban {
			m.By = Rising
		}
	}
}

// Earned returns the bound that a provider earned whose owner declared no
// ceiling; 0 if there was one, or it is not known.
func (m *Memory) Earned() float64 {
	if m.Plateau == nil {
		return 0
	}
	return m.Plateau.Earned
}

// InFlight returns how many requests the provider was found to allow at once; 0
// if it does not count them.
func (m *Memory) InFlight() int {
	if m.Plateau == nil {
		return 0
	}
	return m.Plateau.Crowd
}

// Charge returns what one request takes of the announced limit that is for the fewest of them, which is a name and how much it
// grants; 0 if it is not known to take more than one of any.
func (m *Memory) Charge() (name string, limit, each float64) {
	if m.Plateau == nil || !m.Plateau.Charge.sane() || m.Plateau.Charge.Row < chargeSure {
		return "", 0, 0
	}
	k := m.Plateau.Charge
	return k.Name, k.Limit, k.Cost
}

// PerSecond returns the pace that was learned; 0 if none was.
func (m Memory) PerSecond() float64 {
	if m.Interval <= 0 {
		return 0
	}
	return PerSecond(m.Interval)
}

// A keptPlateau is the saved form of what a plateau knows.
type keptPlateau struct {
	Target  float64       `json:"target_per_second,omitempty"`
	Limit   float64       `json:"limit_per_second,omitempty"` // 0: the target is not confirmed
	Guesses int32         `json:"guesses,omitempty"`          // refusals in a row between which too little was answered to count
	Banned  float64       `json:"banned_per_second,omitempty"`
	Held    time.Duration `json:"banned_held_ns,omitempty"` // for how long that held when the provider was last heard, since it last changed
	Age     time.Duration `json:"banned_age_ns,omitempty"`  // and since the account was refused
	Window  time.Duration `json:"window_ns,omitempty"`
	Agreed  int32         `json:"confirmed,omitempty"`    // how often the limit was
	Lone    bool          `json:"of_one_count,omitempty"` // and nothing was known before it
	Every   int           `json:"probe_every,omitempty"`
	Since   int           `json:"probe_since,omitempty"`        // answers at the plateau, or at the level that is tried
	Trying  float64       `json:"trying_per_second,omitempty"`  // the level of a probe that had not ended
	Tried   time.Duration `json:"tried_ns,omitempty"`           // for how long it had held
	Step    float64       `json:"probe_step,omitempty"`         // from one level to the next
	TooFast float64       `json:"refused_per_second,omitempty"` // the pace that was refused last, where the limit is not confirmed
	Calm    time.Duration `json:"calm_ns,omitempty"`            // in which runs were too short to look for more
	Crowd   int           `json:"in_flight,omitempty"`
	Late    float64       `json:"late_share,omitempty"`     // of the answers, whatever the pace
	Usual   time.Duration `json:"latency_ns,omitempty"`     // typical,
	Scatter float64       `json:"latency_spread,omitempty"` // and the dispersion of the logarithms of single ones
	Slow    bool          `json:"slow_beyond,omitempty"`
	Backoff *keptBackoff  `json:"backoff,omitempty"` // everything was refused
	Count   *keptCount    `json:"count,omitempty"`   // of what was answered since the last episode
	Of      *exhausted    `json:"used_up,omitempty"` // the announced limit that it follows from
	Granted *keptGauge    `json:"granted,omitempty"` // the strictest announced limit, if more is granted than it says
	Charge  *keptCharge   `json:"charge,omitempty"`  // what a request takes of an announced limit that counts something else
	trust
	episodes
	budget
}

// Episodes are what earlier refusals tell of those to come: each of many short runs would
// find it anew, by being refused.
type episodes struct {
	Dear   time.Duration `json:"block_ns,omitempty"`       // what the last one cost that was learned from,
	Ago    time.Duration `json:"since_block_ns,omitempty"` // and how long ago that was over, when the provider was heard
	Asked  time.Duration `json:"block_asked_ns,omitempty"` // for how long the provider asked to wait at the latest refusal
	Missed int32         `json:"probes_refused,omitempty"` // in a row
	Unseen time.Duration `json:"unseen_ns,omitempty"`      // requests are lost, or given up on the way, which is noticed after so long
	Back   *keptComeback `json:"comeback,omitempty"`       // a pace that had held, and is missed
	Block  *lastBlock    `json:"last_block,omitempty"`     // the last one that was long
	Lones  *lones        `json:"lone_503s,omitempty"`      // their cause is not known yet
	Losses float64       `json:"lost_share,omitempty"`     // of the requests, whatever the pace
	Trial  *lossTrial    `json:"loss_trial,omitempty"`     // whether losses come from the pace, which is not known yet
	Doubt  *keptDoubt    `json:"doubt,omitempty"`          // headers had promised what was refused
}

// A budget is an announced limit with a window of many minutes, which may be
// used up at any pace. Many providers tell when the window ends and not how long
// it is. In its last minutes only an earlier run can tell it from a short one.
type budget struct {
	Name string        `json:"budget,omitempty"`
	Long time.Duration `json:"budget_window_ns,omitempty"`
}

// A keptGauge is the saved form of an announced limit that is granted anew more often than its window says.
type keptGauge struct {
	Name   string        `json:"name,omitempty"`
	Limit  float64       `json:"limit"`
	Told   time.Duration `json:"window_ns"`
	Length time.Duration `json:"granted_in_ns"`
}

// Part returns m for a part of the requests that it is of, or for more of them.
func (m Memory) Part(of float64) Memory {
	if m.Interval > 0 {
		m.Interval = interval(of * m.PerSecond())
	}
	if m.Plateau != nil {
		kp := *m.Plateau
		kp.Target, kp.Limit, kp.Trying, kp.Backoff, kp.Count, kp.Granted, kp.episodes = of*kp.Target, of*kp.Limit, of*kp.Trying, nil, nil, nil, episodes{}
		m.Plateau = &kp
	}
	return m
}

// Window returns the span that the provider counts in; 0 if it is not known.
func (m Memory) Window() time.Duration {
	if m.Plateau == nil {
		return 0
	}
	return m.Plateau.Window
}

// Confirmed reports whether a limit is known that was found more than once.
func (m Memory) Confirmed() bool { return m.Plateau != nil && m.Plateau.Agreed > 0 }

// Doubted returns m with a pace that is no limit, so that more is looked for at
// once.
func (m Memory) Doubted(rate float64) Memory {
	m.Interval = interval(rate)
	if m.Plateau != nil {
		m.Plateau = &keptPlateau{Target: rate, Banned: m.Plateau.Banned, Held: m.Plateau.Held, Age: m.Plateau.Age,
			Crowd: m.Plateau.Crowd, trust: m.Plateau.trust, budget: m.Plateau.budget}
	}
	return m
}

// sane reports whether rate can be one that was kept.
func sane(rate float64) bool { return rate >= slowest && !math.IsInf(rate, 0) }

// pauseLongest is the longest that a pause can be.
const pauseLongest = pauseCap + 3*pauseCap/20

// A keptBackoff is the saved form of an episode that has not ended, because
// everything was refused. The next process goes on with it: it waits for the end
// of the pause and asks once, and does not begin with short pauses again.
type keptBackoff struct {
	From    float64       `json:"from_per_second"`             // the pace before it
	For     time.Duration `json:"for_ns"`                      // it had lasted when the provider was last heard,
	Pause   time.Duration `json:"pause_ns"`                    // and from then on nothing was to leave for so long
	Refused int32         `json:"refused"`                     // probes
	Asked   time.Duration `json:"asked_ns,omitempty"`          // by Retry-After
	Was     mode          `json:"was,omitempty"`               // the mode in which it began
	Slow    bool          `json:"slow,omitempty"`              // requests were lost, or given up on the way, by a server that is not away
	Lost    bool          `json:"lost,omitempty"`              // requests were lost, by one that may be
	Goal    float64       `json:"goal_per_second,omitempty"`   // of a climb
	Burst   float64       `json:"burst_per_second,omitempty"`  // what was answered shortly before
	Proven  float64       `json:"proven_per_second,omitempty"` // the highest level of a probe that held,
	Tried   time.Duration `json:"tried_ns,omitempty"`          // and for how long the last one did
	Lied    bool          `json:"promised,omitempty"`          // by headers
}

// A keptCount is the saved form of a count that no episode has ended. The next process
// goes on with it if it begins soon: see goesOn.
type keptCount struct {
	Work    float64       `json:"work"`
	Answers int           `json:"answers"`
	For     time.Duration `json:"for_ns"`                // until the provider was last heard,
	Unasked time.Duration `json:"unasked_ns,omitempty"`  // of which nobody asked for so long
	Cut     bool          `json:"cut,omitempty"`         // it began with a run, and what was answered before that is not known
	Past    float64       `json:"work_before,omitempty"` // of the counts before it,
	PastFor time.Duration `json:"before_ns,omitempty"`   // in so long
}

// goesOn reports whether the count goes on in a process that begins so long after the
// provider was heard, whether everything was refused then or not: no longer than the
// longest window, and than it is known for how long everything was.
func (c *keptCount) goesOn(after time.Duration, refused bool) bool {
	return c.sane() && after <= longOutage && (!refused || after <= c.For/2)
}

func (c *keptCount) sane() bool {
	return c != nil && c.Work > 0 && !math.IsInf(c.Work, 0) && c.For > 0 && c.For <= longestCount
}

// Backoff returns for how long nothing should leave yet, because everything was
// refused when the provider was heard some time ago; 0 if it was not.
func (m Memory) Backoff(ago time.Duration) time.Duration {
	if m.Plateau == nil || m.Plateau.Backoff == nil {
		return 0
	}
	return max(0, min(m.Plateau.Backoff.Pause, pauseLongest)-max(0, ago))
}

// Trial returns the level of a probe that had not ended, at which a run goes on soon; 0 if there was none.
func (m Memory) Trial() float64 {
	if m.Plateau == nil || m.Plateau.Trying <= m.PerSecond() {
		return 0
	}
	return m.Plateau.Trying
}

// Refused returns for how long everything had been refused when the provider was
// heard last; 0 if it had not.
func (m Memory) Refused() time.Duration {
	if m.Plateau == nil || m.Plateau.Backoff == nil {
		return 0
	}
	return m.Plateau.Backoff.For
}

// Probes returns how many lone requests were refused after a pause each, since
// everything was: however slowly they left.
func (m Memory) Probes() int {
	if m.Plateau == nil || m.Plateau.Backoff == nil {
		return 0
	}
	return int(m.Plateau.Backoff.Refused)
}
