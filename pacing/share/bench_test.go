package share_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/desk"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/share"
)

// BenchmarkTurn is a turn from asking to its end, without a wait: of the
// process that leads, and of a guest.
func BenchmarkTurn(b *testing.B) {
	c := share.Config{At: share.At{Dir: b.TempDir(), Account: "acme"}, Concurrency: 1, Open: func([]byte) (*gate.Gate, error) {
		return pacing.NewGate(pacing.Config{Provider: collection.Provider{Name: "acme", Unpaced: true}})
	}}
	for _, name := range []string{"leader", "guest"} {
		d, err := share.Join(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		defer d.Close()
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, err := d.Enter(b.Context(), &desk.Turn{Asker: willing{}})
				if err != nil {
					b.Fatal(err)
				}
				d.Settle(p, gate.Outcome{Signal: law.Succeeded, Hold: -1}, gate.Request{})
			}
		})
	}
}

// A willing asker has no budgets.
type willing struct{}

func (willing) Ended(time.Time) error                   { return nil }
func (willing) Spent(time.Time) error                   { return nil }
func (willing) Admit(*desk.Turn, bool, time.Time) error { return nil }
func (willing) Waits(*desk.Turn, gate.Plan, time.Time)  {}
func (willing) Waited(*desk.Turn, time.Time)            {}
