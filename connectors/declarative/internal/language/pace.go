package language

import (
	"cmp"
	"fmt"

	"collect/collection"
	"collect/internal/yamlfile"
)

// A Pace is what a user may say of a provider's pace in the words of a
// connector file. Zero fields say nothing.
type Pace struct {
	Law         string
	Concurrency collection.Concurrency
	Clamp       collection.Clamp
	Reserve     float64 // of a quota
}

// Read returns the pace that the spec describes, and its mistakes.
func (spec PaceSpec) Read() (Pace, []yamlfile.Fault) {
	d := &yamlfile.Decoder{}
	return spec.Pace(d), d.Faults
}

// Under returns p as overridden by top, which outranks it, but for what makes
// the pace slower: the fewest requests in flight and the largest reserve hold.
func (p Pace) Under(top Pace) Pace {
	flight := collection.Concurrency{
		Max: p.Concurrency.Of(top.Concurrency.Max), Law: cmp.Or(top.Concurrency.Law, p.Concurrency.Law),
	}
	if p.Concurrency.Max == 0 {
		flight.Max = top.Concurrency.Max // of none is one
	}
	return Pace{
		Law: cmp.Or(top.Law, p.Law), Concurrency: flight,
		Clamp: p.clampUnder(top.Clamp), Reserve: max(p.Reserve, top.Reserve),
	}
}

// clampUnder returns the clamp of p with every key that top says. One that is
// said for top means that it is on.
func (p Pace) clampUnder(top collection.Clamp) collection.Clamp {
	if top.Off || top == (collection.Clamp{}) {
		return cmp.Or(top, p.Clamp)
	}
	return collection.Clamp{
		Burn: cmp.Or(top.Burn, p.Clamp.Burn), Least: cmp.Or(top.Least, p.Clamp.Least),
		Step: cmp.Or(top.Step, p.Clamp.Step), Cooldown: cmp.Or(top.Cooldown, p.Clamp.Cooldown),
	}
}

// Pace returns the pace that the spec describes; d notes its mistakes.
func (spec PaceSpec) Pace(d *yamlfile.Decoder) Pace {
	d.OneOf(spec.Law, laws[:]...)
	flight := spec.Concurrency
	d.OneOf(flight.Law, flightLaws[:]...)
	switch {
	case flight.Max.Value > mostInFlight:
		d.Fail(flight.Max.At, fmt.Sprintf("there can be at most %d requests in flight", mostInFlight), "")
	case flight.Law.Set && !flight.Max.Set:
		d.Fail(flight.At, "a concurrency needs a `max`", "")
	}
	clamp := spec.Clamp
	if clamp.Step.Set && clamp.Step.Value > 0 && clamp.Step.Value < 0.01 {
		d.Fail(clamp.Step.At, "a step is 1% at least", "")
	}
	return Pace{
		Law:         spec.Law.Text,
		Concurrency: collection.Concurrency{Max: flight.Max.Value, Law: flight.Law.Text},
		Clamp: collection.Clamp{
			Off: clamp.Off.Value, Burn: clamp.Burn.Value, Least: clamp.Least.Value, Step: clamp.Step.Value, Cooldown: clamp.Cooldown.Value,
		},
		Reserve: spec.Quota.Reserve.Value,
	}
}
