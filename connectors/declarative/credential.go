package declarative

import (
	"maps"
	"slices"
	"strings"

	"collect/collection"
)

// leastSecret is the shortest secret that is looked for in what a provider
// sends. A shorter one would be found in what has nothing to do with it.
const leastSecret = 8

// credentials are the values of the secrets that requests are sent with. What
// a provider sends back of them must not be stored as a cursor.
type credentials struct {
	given   []string        // that can be looked for
	renewed func() []string // those of now; nil: there are none
}

func newCredentials(values map[string]string) credentials {
	return credentials{given: findable(slices.Collect(maps.Values(values)))}
}

// findable returns the secrets that can be looked for.
func findable(secrets []string) []string {
	return slices.DeleteFunc(secrets, func(secret string) bool { return len(secret) < leastSecret })
}

// all returns those that can be looked for, as of now.
func (c credentials) all() []string {
	if c.renewed == nil {
		return c.given
	}
	return slices.Concat(c.given, findable(c.renewed()))
}

// are reports whether text is one of them.
func (c credentials) are(text string) bool { return slices.Contains(c.all(), text) }

// leastPart is the shortest part of a secret that a text may not show.
const leastPart = 6

// partly reports whether text holds a part of one of them.
func (c credentials) partly(text string) bool {
	return slices.ContainsFunc(c.all(), func(secret string) bool {
		for i := range len(secret) - leastPart + 1 {
			if strings.Contains(text, secret[i:i+leastPart]) {
				return true
			}
		}
		return false
	})
}

// in reports whether text holds one of them, as it is or escaped for a URL, in
// letters of either case.
func (c credentials) in(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(c.all(), func(secret string) bool {
		for _, spelled := range collection.InURL(secret) {
			if strings.Contains(text, strings.ToLower(spelled)) {
				return true
			}
		}
		return false
	})
}
