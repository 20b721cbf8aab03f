package report

import (
	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
)

// An ExplanationLine is an explanation in JSON: raw numbers, and null for what
// is not known.
type ExplanationLine struct {
	Connector   string       `json:"connector"`
	Provider    *string      `json:"provider"`
	Learned     *float64     `json:"learned_per_second"`
	PerSecond   *float64     `json:"per_second"`        // in force
	Begins      *float64     `json:"begins_per_second"` // the next run
	Ended       int          `json:"latest_requests"`   // that ended,
	Failed      int          `json:"latest_failed"`     // of which so many failed or got no answer
	Ceiling     *float64     `json:"ceiling_per_second"`
	HeardAt     jsonout.Time `json:"confirmed_at"`
	Shared      bool         `json:"from_shared_pace"`  // newer than the database
	Sharing     *SharingLine `json:"sharing,omitempty"` // the machines that share the pace now; none: no process leads, or that is not known
	Binds       *string      `json:"binds"`
	Blocked     bool         `json:"blocked"`
	Constraints []Constraint `json:"constraints"`
	Announced   []limitLine  `json:"announced"` // one for each limit of the provider
	Changes     []changeLine `json:"changes"`
	StopsFirst  []string     `json:"stops_first"`
	Requests    *int64       `json:"requests_left"` // at most, one for each parent
	Seconds     *float64     `json:"seconds_left"`  // that they take at this pace
	Faster      string       `json:"faster"`
	Accounts    []TurnLine   `json:"accounts,omitempty"` // where several take turns
	Error       *ErrorLine   `json:"error"`              // that ended the newest run; null: none did
}

// A limitLine is a limit as the provider announced it last.
type limitLine struct {
	Time jsonout.Time `json:"ts"`
	collection.LimitInfo
	Takes *float64 `json:"per_request"` // how much less is left after each request, if more than one; nil: one, or not known
}

type changeLine struct {
	Time    jsonout.Time            `json:"ts"`
	Event   collection.EventKind    `json:"event"`
	Rate    *collection.RateInfo    `json:"rate,omitempty"`
	Breaker *collection.BreakerInfo `json:"breaker,omitempty"`
	Freeze  *Freeze                 `json:"freeze,omitempty"`
	Clamp   *collection.ClampInfo   `json:"clamp,omitempty"`
	Route   *collection.RouteInfo   `json:"route,omitempty"`
	Message *string                 `json:"message"`
}

func (e Explanation) Line() ExplanationLine {
	line := ExplanationLine{
		Connector: e.Name, Learned: jsonout.OrNull(e.Pace.Learned), PerSecond: jsonout.OrNull(e.Pace.PerSecond), Begins: jsonout.OrNull(e.Pace.Begins),
		Ended: e.Pace.Ended, Failed: e.Pace.Failed, Ceiling: e.Pace.Ceiling, HeardAt: jsonout.Time(e.Pace.HeardAt), Shared: e.Shared, Sharing: sharingLine(e.Sharing),
		Constraints: []Constraint{}, Announced: []limitLine{}, Changes: []changeLine{}, StopsFirst: e.Stops(), Faster: e.Faster(), Accounts: TurnLines(e.Accounts, e.Now),
		Error: errorLine(e.Newest()),
	}
	if e.Account != nil {
		line.Provider = &e.Account.Provider
	}
	if left := e.Left(); left != nil {
		line.Requests, line.Seconds = &left.Requests, jsonout.OrNull(max(0, left.In.Seconds()))
	}
	binds := e.binds()
	if binds != nil {
		line.Binds, line.Blocked = jsonout.Text(string(binds.Name)), binds.Blocks
	}
	line.Blocked = line.Blocked || e.waits() != ""
	for i := range e.Pace.Constraints {
		k := &e.Pace.Constraints[i]
		c := ConstraintOf(k)
		c.Binds = k == binds
		c.Origin = jsonout.Text(words.Clean(e.originOf(*k)))
		line.Constraints = append(line.Constraints, c)
	}
	for i := range e.Pace.Announced {
		q := &e.Pace.Announced[i]
		shown := limitLine{jsonout.Time(q.Told), collection.LimitInfo{Name: words.Clean(q.Name), Unit: unitOf(q),
			Limit: q.Limit, Remaining: q.Remaining, Ratio: min(1, q.Remaining/q.Limit)}, jsonout.OrNull(q.Each)}
		if q.Window > 0 && q.Known {
			shown.Window = new(q.Window.Seconds())
		}
		if !q.Ends.IsZero() {
			shown.Reset = new(q.Ends.Sub(q.Told).Seconds())
		}
		line.Announced = append(line.Announced, shown)
	}
	for _, event := range e.History {
		c := changeLine{Time: jsonout.Time(event.Time), Event: event.Kind, Rate: event.Rate, Freeze: FreezeOf(event.Freeze), Clamp: event.Clamp, Route: event.Route, Message: jsonout.Text(words.Clean(event.Message))}
		if b := event.Breaker; b != nil {
			shown := *b
			shown.Reason, shown.Detail = words.Clean(b.Reason), words.Clean(b.Detail)
			c.Breaker = &shown
		}
		line.Changes = append(line.Changes, c)
	}
	return line
}
