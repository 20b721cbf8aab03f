package engine

import (
	"crypto/rand"
	"strings"
	"time"
)

// crockford is the alphabet of Douglas Crockford's base 32: no letter looks
// like a digit.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newRunID returns an id that sorts by time: 10 characters of milliseconds and
// 6 of chance, as the first 16 of a ULID.
func newRunID(now time.Time) string {
	id := make([]byte, 16)
	ms := now.UnixMilli()
	for i := 9; i >= 0; i-- {
		id[i] = crockford[ms&31]
		ms >>= 5
	}
	rand.Read(id[10:])
	for i := 10; i < len(id); i++ {
		id[i] = crockford[id[i]&31]
	}
	return string(id)
}

// IsRunID reports whether text has the form of the id of a run.
func IsRunID(text string) bool {
	return len(text) == 16 && strings.Trim(text, crockford) == ""
}
