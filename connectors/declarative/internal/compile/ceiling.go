package compile

import (
	"fmt"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/internal/yamlfile"
)

// checkPace compiles what limits the pace.
func (c *checker) checkPace(spec language.ProviderSpec, p *collection.Provider) {
	p.StartPerSecond = c.rate(spec.StartPerSecond)
	c.rate(spec.Ceiling.PerSecond)
	p.Ceilings = ceilings(spec.Ceiling)
	c.OneOf(spec.Pace, language.Paces[:]...)
	p.Unpaced = spec.Pace.Text == "off" || spec.Pace.Text == "false"
	if spec.Law.Set && p.Unpaced {
		c.Fail(spec.Law.At, "with `pace: off` there is no law of the pace", "")
	}
	pace := spec.PaceSpec.Pace(&c.Decoder)
	p.Law, p.Concurrency, p.Clamp, p.Reserve = pace.Law, pace.Concurrency, pace.Clamp, pace.Reserve
}

// rate returns the value of a rate that is not slower than anybody waits for.
func (c *checker) rate(n yamlfile.Number) float64 {
	if n.Set && n.Value > 0 && n.Value < 1/language.Slowest.Seconds() {
		c.Fail(n.At, "this is less than one request in 30 days", "")
	}
	return n.Value
}

func ceilings(spec language.CeilingSpec) []collection.Ceiling {
	var list []collection.Ceiling
	if spec.PerSecond.Value > 0 {
		list = append(list, collection.PerSecond(spec.PerSecond.Value))
	}
	for _, w := range []struct {
		count int
		per   time.Duration
	}{{spec.PerMinute.Value, time.Minute}, {spec.PerHour.Value, time.Hour}, {spec.PerDay.Value, 24 * time.Hour}} {
		if w.count > 0 {
			list = append(list, collection.Ceiling{Count: w.count, Per: w.per})
		}
	}
	return list
}

// route compiles how the provider counts the requests of a stream.
func (c *checker) route(stream string, spec language.StreamSpec) {
	if spec.Weight.Value > language.Heaviest {
		c.Fail(spec.Weight.At, fmt.Sprintf("a request can count as %d at most", language.Heaviest), "")
	}
	if !spec.Route.Set && !spec.Weight.Set {
		return
	}
	p := &c.spec.Provider
	if p.Routes == nil {
		p.Routes = map[string]collection.Route{}
	}
	p.Routes[stream] = collection.Route{Name: spec.Route.Text, Weight: spec.Weight.Value}
}
