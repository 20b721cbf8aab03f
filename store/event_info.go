package store

import (
	"encoding/json"

	"collect/collection"
)

// EventInfo returns what of an event belongs to its kind, as JSON. A store keeps
// it beside the time, the kind and the place of the event.
func EventInfo(e collection.Event) ([]byte, error) {
	return json.Marshal(eventInfo{e.Rate, e.Throttle, e.Wait, e.Breaker, e.Freeze, e.Clamp, e.Route, e.Limit, e.Gap, e.Budget, e.Metrics, e.Message, e.Pruned, e.Account, e.Ceiling})
}

// AddEventInfo sets in e what EventInfo returned.
func AddEventInfo(e *collection.Event, text []byte) error {
	var in eventInfo
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	e.Rate, e.Throttle, e.Wait, e.Breaker, e.Freeze = in.Rate, in.Throttle, in.Wait, in.Breaker, in.Freeze
	e.Clamp, e.Route, e.Limit, e.Gap, e.Budget, e.Metrics, e.Message, e.Pruned, e.Account, e.Ceiling = in.Clamp, in.Route, in.Limit, in.Gap, in.Budget, in.Metrics, in.Message, in.Pruned, in.Account, in.Ceiling
	return nil
}

type eventInfo struct {
	Rate     *collection.RateInfo     `json:"rate,omitempty"`
	Throttle *collection.ThrottleInfo `json:"throttle,omitempty"`
	Wait     *collection.WaitInfo     `json:"wait,omitempty"`
	Breaker  *collection.BreakerInfo  `json:"breaker,omitempty"`
	Freeze   *collection.FreezeInfo   `json:"freeze,omitempty"`
	Clamp    *collection.ClampInfo    `json:"clamp,omitempty"`
	Route    *collection.RouteInfo    `json:"route,omitempty"`
	Limit    *collection.LimitInfo    `json:"limit,omitempty"`
	Gap      *collection.GapInfo      `json:"gap,omitempty"`
	Budget   *collection.BudgetInfo   `json:"budget,omitempty"`
	Metrics  *collection.Metrics      `json:"metrics,omitempty"`
	Message  string                   `json:"message,omitempty"`
	Pruned   *collection.PrunedInfo   `json:"pruned,omitempty"`
	Account  string                   `json:"account,omitempty"`
	Ceiling  *collection.CeilingInfo  `json:"ceiling,omitempty"`
}
