package cmd

import (
	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/pacing/gate"
)

// An explainedLine is an explanation in JSON: raw numbers, and null for what
// is not known.
type explainedLine struct {
	Connector   string           `json:"connector"`
	Provider    *string          `json:"provider"`
	Learned     *float64         `json:"learned_per_second"`
	Ceiling     *float64         `json:"ceiling_per_second"`
	HeardAt     jsonout.Time     `json:"confirmed_at"`
	Shared      bool             `json:"from_shared_pace"` // newer than the database
	Binds       *string          `json:"binds"`
	Blocked     bool             `json:"blocked"`
	Constraints []constraintLine `json:"constraints"`
	Changes     []changeLine     `json:"changes"`
	StopsFirst  []string         `json:"stops_first"`
	Requests    *int64           `json:"requests_left"` // that are known of
	Seconds     *float64         `json:"seconds_left"`  // that they take at this pace
	Faster      string           `json:"faster"`
}

type constraintLine struct {
	Name      string       `json:"name"`
	Route     *string      `json:"route"`
	PerSecond *float64     `json:"per_second"`
	Window    *float64     `json:"window_seconds"`
	Count     *int         `json:"count"`
	Used      *int         `json:"used"`
	Latency   *float64     `json:"latency_seconds"`
	Until     jsonout.Time `json:"until"`
	Since     jsonout.Time `json:"since"`
	Again     jsonout.Time `json:"again_at"` // when more is tried
	Blocks    bool         `json:"blocks"`
	Binds     bool         `json:"binds"`
	Origin    *string      `json:"origin"`
}

func constraintLineOf(k *gate.Constraint) constraintLine {
	c := constraintLine{
		Name: string(k.Name), Route: textOrNull(words.Clean(k.Route)), PerSecond: jsonout.OrNull(k.PerSecond), Window: jsonout.OrNull(k.Window.Seconds()),
		Latency: jsonout.OrNull(k.Latency.Seconds()), Until: jsonout.Time(k.Until), Since: jsonout.Time(k.Since), Again: jsonout.Time(k.Again), Blocks: k.Blocks, Binds: k.Binds,
	}
	if k.Count > 0 {
		c.Count, c.Used = &k.Count, &k.Used
	}
	return c
}

type changeLine struct {
	Time    jsonout.Time            `json:"ts"`
	Event   collection.EventKind    `json:"event"`
	Rate    *collection.RateInfo    `json:"rate,omitempty"`
	Breaker *collection.BreakerInfo `json:"breaker,omitempty"`
	Freeze  *freezeLine             `json:"freeze,omitempty"`
	Clamp   *collection.ClampInfo   `json:"clamp,omitempty"`
	Message *string                 `json:"message"`
}

func (e explained) line() explainedLine {
	line := explainedLine{
		Connector: e.Name, Learned: jsonout.OrNull(e.Pace.Learned), Ceiling: e.Pace.Ceiling, HeardAt: jsonout.Time(e.Pace.HeardAt), Shared: e.Shared,
		Constraints: []constraintLine{}, Changes: []changeLine{}, StopsFirst: e.stops(), Faster: e.faster(),
	}
	if e.Account != nil {
		line.Provider = &e.Account.Provider
	}
	if left := e.left(); left != nil {
		in := left.In.Seconds()
		line.Requests, line.Seconds = &left.Requests, &in
	}
	if b := e.Pace.Limit(); b != nil {
		line.Binds, line.Blocked = textOrNull(string(b.Name)), b.Blocks
	}
	for i := range e.Pace.Constraints {
		k := &e.Pace.Constraints[i]
		c := constraintLineOf(k)
		c.Origin = textOrNull(words.Clean(e.originOf(*k)))
		line.Constraints = append(line.Constraints, c)
	}
	for _, event := range e.History {
		c := changeLine{Time: jsonout.Time(event.Time), Event: event.Kind, Rate: event.Rate, Clamp: event.Clamp, Message: textOrNull(words.Clean(event.Message))}
		if b := event.Breaker; b != nil {
			shown := *b
			shown.Reason, shown.Detail = words.Clean(b.Reason), words.Clean(b.Detail)
			c.Breaker = &shown
		}
		if f := event.Freeze; f != nil {
			c.Freeze = &freezeLine{f.Frozen, words.Clean(f.Reason), jsonout.Time(f.Until)}
		}
		line.Changes = append(line.Changes, c)
	}
	return line
}
