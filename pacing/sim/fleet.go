package sim

import (
	"net/http"
	"sync/atomic"

	"collect/pacing"
	"collect/pacing/desk"
)

// Fleet is len(answered) processes of one account that share a pace: each has a
// governor of its own, and all stand in one line, as the processes of one host do
// with package share, but without the socket between them. The answers that each
// process got are counted in answered.
func Fleet(law string, answered []atomic.Int64) Client {
	return Client{law, func(p *Provider, state *[]byte) ([]http.RoundTripper, func()) {
		described := lab()
		described.Name, described.Origins = p.Family, []string{Origin}
		config := pacing.Config{Provider: described, Law: law, Concurrency: Workers, Restore: *state, Random: p.chance}
		gate, err := pacing.NewGate(config)
		if err != nil {
			panic(err) // a law that is not there
		}
		shared := desk.New(gate)
		config.Desk = shared
		var transports []http.RoundTripper
		var governors []*pacing.Governor
		for i := range answered {
			config.Base = counted{p, &answered[i]}
			g, err := pacing.New(config)
			if err != nil {
				panic(err)
			}
			transports, governors = append(transports, g.Client().Transport), append(governors, g)
		}
		return transports, func() {
			*state = shared.State(true)
			for _, g := range governors {
				g.Close()
			}
		}
	}}
}

// counted counts the answers with what was asked for.
type counted struct {
	base http.RoundTripper
	n    *atomic.Int64
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.base.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		c.n.Add(1)
	}
	return resp, err
}
