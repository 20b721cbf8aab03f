package words

import (
	"fmt"
	"strings"
	"time"

	"collect/collection"
)

// Reason says a reason the way a person would, in at most 24 columns: the
// tables have no more.
func Reason(r collection.Reason) string {
	switch r {
	case collection.RequestCap:
		return "run reached request cap"
	case collection.WallClock:
		return "run reached time limit"
	case collection.RetryBudget:
		return "run used all retries"
	case collection.Interrupted:
		return "run was interrupted"
	case collection.CircuitOpen:
		return "breaker was open"
	case collection.RateLimited:
		return "provider was throttling"
	case collection.UpstreamPressure:
		return "provider kept failing"
	case collection.RetryAfter:
		return "provider asked to wait"
	case collection.Auth:
		return "token was rejected"
	case collection.Frozen:
		return "provider is frozen"
	case collection.Suspended:
		return "account is suspended"
	case collection.Forbidden:
		return "provider refuses it"
	case collection.SchemaDrift:
		return "records do not match"
	case collection.BadPage:
		return "page cannot be read"
	case collection.CursorExpired:
		return "cursor has expired"
	case collection.TooLarge:
		return "answer is too large"
	case collection.NotFound:
		return "not found"
	case collection.Gone:
		return "gone for good"
	}
	return strings.ReplaceAll(string(r), "_", " ")
}

// Ceiling says a ceiling: 4 a second, 20,000 in 24 h.
func Ceiling(c collection.Ceiling) string {
	switch c.Per {
	case time.Second:
		return Count(int64(c.Count)) + " a second"
	case time.Minute:
		return Count(int64(c.Count)) + " a minute"
	case time.Hour:
		return Count(int64(c.Count)) + " an hour"
	case 24 * time.Hour:
		return Count(int64(c.Count)) + " a day"
	}
	return fmt.Sprintf("%s in %s", Count(int64(c.Count)), Span(c.Per))
}

// Route says what became of the route of a stream.
func Route(r *collection.RouteInfo) string {
	stream := Clean(r.Stream)
	switch r.State {
	case collection.RouteTried:
		return "a pace of its own is tried for " + stream + ", which met all the refusals"
	case collection.RouteKept:
		return stream + " keeps a pace of its own: all streams together are faster"
	}
	return stream + " shares the pace of the other streams again: they were refused together, or no faster apart"
}

// Clamp says how much of a ceiling is in force, and why.
func Clamp(c *collection.ClampInfo) string {
	why := "too many requests were refused under it"
	if c.Ratio > c.Previous {
		why = "few requests were refused under it"
	}
	return fmt.Sprintf("%s of the declared ceiling, was %s: %s", ShareOf(c.Ratio), ShareOf(c.Previous), why)
}
