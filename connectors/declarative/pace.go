package declarative

import (
	"fmt"
	"time"

	"collect/collection"
)

// The most that a file may ask for. More in flight is a load test; a request
// that counts as more is a mistake in a unit.
const (
	mostInFlight = 64
	heaviest     = 1000
)

// slowest is the longest time in which a ceiling may allow one request.
const slowest = 30 * 24 * time.Hour

// laws are the laws of the pace, and those of the requests in flight. YAML
// knows more than one way to write on and off.
var (
	paces      = [...]string{"on", "off", "false", "true"}
	laws       = [...]string{"plateau", "aimd", "interval-step"}
	flightLaws = [...]string{"fixed", "aimd", "mimd", "gradient"}
)

// checkPace compiles what limits the pace.
func (c *checker) checkPace(spec providerSpec, p *collection.Provider) {
	p.StartPerSecond = c.rate(spec.StartPerSecond)
	c.rate(spec.Ceiling.PerSecond)
	p.Ceilings = ceilings(spec.Ceiling)
	c.oneOf(spec.Pace, paces[:]...)
	p.Unpaced = spec.Pace.text == "off" || spec.Pace.text == "false"
	c.oneOf(spec.Law, laws[:]...)
	p.Law = spec.Law.text
	if spec.Law.set && p.Unpaced {
		c.fail(spec.Law.at, "with `pace: off` there is no law of the pace", "")
	}

	flight := spec.Concurrency
	c.oneOf(flight.Law, flightLaws[:]...)
	switch {
	case flight.Max.value > mostInFlight:
		c.fail(flight.Max.at, fmt.Sprintf("there can be at most %d requests in flight", mostInFlight), "")
	case flight.Law.set && !flight.Max.set:
		c.fail(flight.At, "a concurrency needs a `max`", "")
	}
	p.Concurrency = collection.Concurrency{Max: flight.Max.value, Law: flight.Law.text}

	clamp := spec.Clamp
	p.Clamp = collection.Clamp{
		Off: clamp.Off.value, Burn: clamp.Burn.value, Least: clamp.Least.value, Step: clamp.Step.value, Cooldown: clamp.Cooldown.value,
	}
	if clamp.Step.set && clamp.Step.value > 0 && clamp.Step.value < 0.01 {
		c.fail(clamp.Step.at, "a step is 1% at least", "")
	}
	p.Reserve = spec.Quota.Reserve.value
}

// rate returns the value of a rate that is not slower than anybody waits for.
func (c *checker) rate(n number) float64 {
	if n.set && n.value > 0 && n.value < 1/slowest.Seconds() {
		c.fail(n.at, "this is less than one request in 30 days", "")
	}
	return n.value
}

func ceilings(spec ceilingSpec) []collection.Ceiling {
	var list []collection.Ceiling
	if spec.PerSecond.value > 0 {
		list = append(list, perSecond(spec.PerSecond.value))
	}
	for _, w := range []struct {
		count int
		per   time.Duration
	}{{spec.PerMinute.value, time.Minute}, {spec.PerHour.value, time.Hour}, {spec.PerDay.value, 24 * time.Hour}} {
		if w.count > 0 {
			list = append(list, collection.Ceiling{Count: w.count, Per: w.per})
		}
	}
	return list
}

// perSecond returns the ceiling of a rate. One that is not whole allows one
// request in the time that it takes, never more.
func perSecond(rate float64) collection.Ceiling {
	if whole := int(rate); float64(whole) == rate {
		return collection.Ceiling{Count: whole, Per: time.Second}
	}
	return collection.Ceiling{Count: 1, Per: time.Duration(float64(time.Second)/rate) + 1}
}

// route compiles how the provider counts the requests of a stream.
func (c *checker) route(stream string, spec streamSpec) {
	if spec.Weight.value > heaviest {
		c.fail(spec.Weight.at, fmt.Sprintf("a request can count as %d at most", heaviest), "")
	}
	if !spec.Route.set && !spec.Weight.set {
		return
	}
	p := &c.spec.provider
	if p.Routes == nil {
		p.Routes = map[string]collection.Route{}
	}
	p.Routes[stream] = collection.Route{Name: spec.Route.text, Weight: spec.Weight.value}
}
