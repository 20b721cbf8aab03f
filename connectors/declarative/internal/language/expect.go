package language

import "regexp"

// What is said of the records of a stream for who knows it.
var (
	AtLeast = regexp.MustCompile(`^>= ?([0-9]{1,9})$`)
	Share   = regexp.MustCompile(`^(off|[0-9]{1,2}%)$`)
)

// What a walk without a record is, after one that had some.
const (
	ZeroError = "error"
	Off       = "off"
)

// Kinds are what a field of a record may be expected to be.
var Kinds = [...]string{"string", "number", "boolean", "object", "array"}
