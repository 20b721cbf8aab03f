package declarative_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
)

// TestPace: every key of the pace reaches the client.
func TestPace(t *testing.T) {
	for _, tc := range []struct {
		provider, stream string
		want             collection.Provider
	}{
		{"", "", collection.Provider{}},
		{"law: interval-step", "", collection.Provider{Law: "interval-step"}},
		{"concurrency: {max: 8}", "", collection.Provider{Concurrency: collection.Concurrency{Max: 8}}},
		{"concurrency: {max: 64, law: gradient}", "", collection.Provider{Concurrency: collection.Concurrency{Max: 64, Law: "gradient"}}},
		{"clamp: off", "", collection.Provider{Clamp: collection.Clamp{Off: true}}},
		{"clamp: false", "", collection.Provider{Clamp: collection.Clamp{Off: true}}},
		{"clamp: {burn: 2.5%, least: 40%, step: 5%, cooldown: 2m}", "", collection.Provider{
			Clamp: collection.Clamp{Burn: 0.025, Least: 0.4, Step: 0.05, Cooldown: 2 * time.Minute},
		}},
		{"quota: {reserve: 20%}", "", collection.Provider{Reserve: 0.2}},
		{"", ", route: search", collection.Provider{Routes: map[string]collection.Route{"found": {Name: "search"}}}},
		{"", ", weight: 2.5", collection.Provider{Routes: map[string]collection.Route{"found": {Weight: 2.5}}}},
	} {
		spec, err := declarative.Parse("acme.yaml", []byte(`connector: acme
provider:
  base_url: https://api.acme.test
  `+tc.provider+`
streams:
  found: {get: /search, key: id, page: {none: true}`+tc.stream+`}
`))
		if err != nil {
			t.Errorf("%s%s: %v", tc.provider, tc.stream, err)
			continue
		}
		c, err := spec.Build(declarative.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := c.Provider()
		got := collection.Provider{Law: p.Law, Concurrency: p.Concurrency, Clamp: p.Clamp, Reserve: p.Reserve, Routes: p.Routes}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s%s: %+v, want %+v", tc.provider, tc.stream, got, tc.want)
		}
	}
}

// TestPaceUnder: whichever of the two says it, the slower holds; and who says
// nothing changes nothing.
func TestPaceUnder(t *testing.T) {
	some := declarative.Pace{Law: "aimd", Concurrency: collection.Concurrency{Max: 4, Law: "mimd"}, Clamp: collection.Clamp{Least: .6}, Reserve: .2}
	if got := some.Under(declarative.Pace{}); got != some {
		t.Errorf("under nothing: %+v", got)
	}
	if got := (declarative.Pace{}).Under(some); got != some {
		t.Errorf("nothing under it: %+v", got)
	}
	for _, n := range []int{1, 4, 9} {
		other := declarative.Pace{Concurrency: collection.Concurrency{Max: n}, Reserve: float64(n) / 10}
		for _, got := range []declarative.Pace{some.Under(other), other.Under(some)} {
			if got.Concurrency.Max != min(n, 4) || got.Reserve != max(.2, float64(n)/10) || got.Clamp != some.Clamp || got.Law != "aimd" {
				t.Errorf("with %d in flight: %+v", n, got)
			}
		}
	}
}

// TestClampUnder: what outranks a clamp does so key by key, and says nothing of
// the keys that it leaves out.
func TestClampUnder(t *testing.T) {
	file := collection.Clamp{Burn: .1, Least: .6, Cooldown: time.Minute}
	for _, tc := range []struct{ file, top, want collection.Clamp }{
		{file, collection.Clamp{}, file},
		{file, collection.Clamp{Least: .8}, collection.Clamp{Burn: .1, Least: .8, Cooldown: time.Minute}},
		{file, collection.Clamp{Step: .2, Cooldown: time.Hour}, collection.Clamp{Burn: .1, Least: .6, Step: .2, Cooldown: time.Hour}},
		{file, collection.Clamp{Off: true}, collection.Clamp{Off: true}},
		{collection.Clamp{Off: true}, collection.Clamp{}, collection.Clamp{Off: true}},
		{collection.Clamp{Off: true}, collection.Clamp{Burn: .2}, collection.Clamp{Burn: .2}},
	} {
		if got := (declarative.Pace{Clamp: tc.file}).Under(declarative.Pace{Clamp: tc.top}).Clamp; got != tc.want {
			t.Errorf("%+v under %+v is %+v, want %+v", tc.file, tc.top, got, tc.want)
		}
	}
}

// TestCeilingsAreNeverMoreThanDeclared, whatever number is written.
func TestCeilingsAreNeverMoreThanDeclared(t *testing.T) {
	for _, rate := range []string{"0.0000004", "0.3", "1", "2.5", "1e3", "1e18", "1e300"} {
		spec, err := declarative.Parse("acme.yaml", []byte(strings.Replace(sound, "per_second: 2.5", "per_second: "+rate, 1)))
		if err != nil {
			t.Errorf("%s: %v", rate, err)
			continue
		}
		c, err := spec.Build(declarative.Options{Params: map[string]string{"org": "x"},
			Secrets: map[string]declarative.SecretValue{"token": {Value: "x"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Provider().Ceilings[0]; got.Count < 1 || got.Per < 1 {
			t.Errorf("per_second: %s is a ceiling of %d in %v", rate, got.Count, got.Per)
		}
	}
}
