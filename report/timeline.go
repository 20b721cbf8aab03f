package report

import (
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/picture"
	"collect/internal/words"
	"collect/store"
)

// A Timeline says which days of a stream are complete, if the stream is walked in
// windows of time. Of another it says how much of it is stored, and how new.
type Timeline struct {
	Connector string
	Stream    store.StreamState
	Lane      store.LaneState
	Now       time.Time

	Dated    bool      // it is walked in windows of time; what follows is about these
	From     time.Time // the start of the first one
	Until    time.Time // the end of the last one at the latest
	Walked   time.Time // the end of the last one that is finished; zero: none is
	Finished []collection.Span
	Gaps     []DatedGap

	Newest time.Time // the newest item of a stream that is not dated; zero: not known
}

// A DatedGap is a gap with the window that is owed.
type DatedGap struct {
	store.OwnedGap
	From, To time.Time
}

// Calendar returns the days from the first that is collected until now.
func (t Timeline) Calendar() picture.Calendar {
	last := t.Now
	if !t.Until.IsZero() && t.Until.Before(last) {
		last = t.Until.Add(-time.Nanosecond)
	}
	if last.Before(t.From) {
		last = t.From
	}
	return picture.NewCalendar(t.From, last, t.day)
}

// day returns the state of the day that begins at from.
func (t Timeline) day(from time.Time) picture.Day {
	to := from.AddDate(0, 0, 1)
	overlaps := func(a, b time.Time) bool { return a.Before(to) && b.After(from) }
	state := picture.NoDay
	for _, gap := range t.Gaps {
		if !overlaps(gap.From, gap.To) {
			continue
		}
		if UrgencyOf(gap.OwnedGap) == ByPerson {
			return picture.Stuck
		}
		state = picture.Owed
	}
	switch {
	case state != picture.NoDay:
		return state
	case t.Walked.Before(to) && !(t.Lane.Complete && t.Walked.After(from)):
		return picture.NotReached
	}
	asked := false
	for _, span := range t.Finished {
		if overlaps(span.From, span.To) {
			if span.Records > 0 {
				return picture.Complete
			}
			asked = true
		}
	}
	if asked {
		return picture.Empty
	}
	return picture.Complete // by a version that did not note what its windows had
}

// Counted says how much of a stream is stored that is not dated: 40 pages, 2,000
// records; newest item 2026-11-20 12:00 UTC.
func (t Timeline) Counted() string {
	text := words.Counted(t.Stream.Records, "record", "records")
	switch {
	case t.Stream.Parent != "":
		text = words.Counted(t.Lane.Done, "partition", "partitions") + ", " + text
	case t.Lane.Evidence.Pages > 0:
		text = words.Counted(t.Lane.Evidence.Walked().Pages, "page", "pages") + ", " + text
	}
	if t.Newest.IsZero() {
		return text + "; its newest item is not known"
	}
	return text + "; newest item " + words.At(t.Newest, t.Now)
}

// A TimelineLine is a timeline in JSON. What a stream does not have is null.
type TimelineLine struct {
	Connector  string      `json:"connector"`
	Stream     string      `json:"stream"`
	Lane       string      `json:"lane"`
	Dated      bool        `json:"time_axis"`
	Days       *daysLine   `json:"days"`   // null: it has no time axis
	Ranges     []rangeLine `json:"ranges"` // neighbours in one state are one range
	Pages      *int64      `json:"pages"`
	Partitions *int64      `json:"partitions_done"`
	Records    int64       `json:"records"`

	Newest jsonout.Time `json:"newest_item"`
}

type daysLine struct {
	Complete   int `json:"complete"`
	Empty      int `json:"complete_empty"`
	Owed       int `json:"owed"`
	Stuck      int `json:"stuck"`
	NotReached int `json:"not_reached"`
}

// A rangeLine is days that are in one state: complete, complete_empty, owed, stuck or
// not_reached.
type rangeLine struct {
	First string `json:"first_day"`
	Last  string `json:"last_day"`
	State string `json:"state"`
}

var dayNames = map[picture.Day]string{
	picture.Complete: "complete", picture.Empty: "complete_empty", picture.Owed: "owed", picture.Stuck: "stuck", picture.NotReached: "not_reached",
}

// TimelineLines returns timelines for --json; an empty list is [].
func TimelineLines(all []Timeline) []TimelineLine {
	lines := []TimelineLine{}
	for _, t := range all {
		line := TimelineLine{
			Connector: t.Connector, Stream: t.Stream.Name, Lane: string(t.Lane.Lane), Dated: t.Dated, Ranges: []rangeLine{},
			Records: t.Stream.Records, Newest: jsonout.Time(t.Newest),
		}
		switch {
		case t.Dated:
			c := t.Calendar()
			line.Days = &daysLine{c.Count(picture.Complete), c.Count(picture.Empty), c.Count(picture.Owed), c.Count(picture.Stuck), c.Count(picture.NotReached)}
			for first, days := range c.Ranges() {
				line.Ranges = append(line.Ranges, rangeLine{first.Format(time.DateOnly), first.AddDate(0, 0, days.Count-1).Format(time.DateOnly), dayNames[days.State]})
			}
		case t.Stream.Parent != "":
			line.Partitions = &t.Lane.Done
		case t.Lane.Evidence.Pages > 0:
			line.Pages = new(t.Lane.Evidence.Walked().Pages)
		}
		lines = append(lines, line)
	}
	return lines
}
