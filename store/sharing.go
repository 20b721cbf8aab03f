package store

import "collect/collection"

// A Sharing says which runs share the pace of an account at a moment, in a store that several
// machines use.
type Sharing struct {
	Machines, Runs int
	Leader         collection.Holder // the process that decides; zero: it is of a version that did not say
}
