package declarative

import (
	"cmp"
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"collect/collection"
)

// A Pace is what a user may say of a provider's pace in the words of a
// connector file. Zero fields say nothing.
type Pace struct {
	Law         string
	Concurrency collection.Concurrency
	Clamp       collection.Clamp
	Reserve     float64 // of a quota
}

// PaceKeys are the keys that [Pace.Read] takes.
func PaceKeys() []string { return []string{"law", "concurrency", "clamp", "quota"} }

// A Mistake is what is wrong with a node, and where.
type Mistake struct {
	Line, Column, Length int
	Message, Label, Note string
}

// Read takes in what stands under a key of PaceKeys, as a connector file has it
// under `provider`. It returns the first mistake, or nil.
func (p *Pace) Read(key string, n ast.Node) *Mistake {
	var spec providerSpec
	c := &checker{}
	v := reflect.ValueOf(&spec).Elem()
	for field, value := range v.Fields() {
		if field.Tag.Get("yaml") == key {
			c.value(n, value)
		}
	}
	var read collection.Provider
	if len(c.faults) == 0 {
		c.checkPace(spec, &read)
	}
	if len(c.faults) > 0 {
		f := c.faults[0]
		return &Mistake{f.at.line, f.at.column, f.at.length, f.message, f.label, f.note}
	}
	*p = p.Under(Pace{read.Law, read.Concurrency, read.Clamp, read.Reserve})
	return nil
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
