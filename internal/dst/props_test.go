package dst_test

import (
	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative"
)

// Props are what the histories of a stage have in common. There are few connector
// files and places that differ, and to read one of these or to tell the other takes
// long.
type props struct {
	connectors map[string]connectors.Connector // by their file
	names      map[collection.Place]string
}

func newProps() props {
	return props{map[string]connectors.Connector{}, map[collection.Place]string{}}
}

// connector returns the connector of a plan.
func (o props) connector(p plan) connectors.Connector {
	file := p.connector()
	c := o.connectors[file]
	if c == nil {
		spec, err := declarative.Parse("sim.yaml", []byte(file))
		if err != nil {
			panic(err) // it is ours
		}
		if c, err = spec.Build(declarative.Options{}); err != nil {
			panic(err)
		}
		o.connectors[file] = c
	}
	return c
}
