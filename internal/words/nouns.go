package words

import (
	"fmt"
	"time"

	"collect/collection"
)

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

// Limit says a limit that a provider announces: 5,000 requests in 60 min, 38 left.
func Limit(l *collection.LimitInfo) string {
	text := Count(int64(l.Limit)) + " " + Clean(l.Unit)
	if l.Window != nil {
		text += " in " + Span(time.Duration(*l.Window*float64(time.Second)))
	}
	return text + fmt.Sprintf(", %s left", Count(int64(l.Remaining)))
}
