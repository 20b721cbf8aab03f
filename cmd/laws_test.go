package cmd

import (
	"testing"

	"collect/connectors/declarative"
	"collect/pacing"
	"collect/pacing/inflight"
	"collect/pacing/law"
)

// TestEveryLawCanBeDeclared: what the connector language takes, the client
// knows, and the other way round.
func TestEveryLawCanBeDeclared(t *testing.T) {
	gateFor := func(provider string) error {
		spec, err := declarative.Parse("acme.yaml", []byte("connector: acme\nprovider:\n  base_url: https://api.acme.test\n  "+provider+
			"\nstreams:\n  a: {get: /a, key: id, page: {none: true}}\n"))
		if err != nil {
			return err
		}
		c, err := spec.Build(declarative.Options{})
		if err != nil {
			return err
		}
		_, err = pacing.NewGate(pacing.Config{Provider: c.Provider()})
		return err
	}
	for _, name := range law.Laws() {
		if err := gateFor("law: " + name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range inflight.Laws() {
		if err := gateFor("concurrency: {max: 4, law: " + name + "}"); err != nil {
			t.Error(err)
		}
	}
	for _, fine := range []string{"clamp: {step: 1%}", "clamp: {step: 99.9%, least: 0.1%, burn: 99%, cooldown: 1s}", "quota: {reserve: 99.9%}"} {
		if err := gateFor(fine); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
}
