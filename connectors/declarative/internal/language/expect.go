package language

import "collect/internal/lazy"

// What is said of the records of a stream for who knows it.
var (
	AtLeast = lazy.Regexp(`^>= ?([0-9]{1,9})$`)
	Share   = lazy.Regexp(`^(off|[0-9]{1,2}%)$`)
)

// What a walk without a record is, after one that had some.
const (
	ZeroError = "error"
	Off       = "off"
)

// Kinds are what a field of a record may be expected to be.
var Kinds = [...]string{"string", "number", "boolean", "object", "array"}
