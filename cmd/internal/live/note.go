package live

import "time"

// A Grade says how much a line of [Note] matters, to journald.
type Grade int

// The grades.
const (
	Info    Grade = priorityInfo
	Warning Grade = priorityWarning
)

// Note returns a plain line about a subject that is no run: the event, and pairs of a key
// and its value. One with an empty value is left out.
func Note(t time.Time, style Style, grade Grade, subject, event string, pairs ...string) string {
	w := newLine(t, style, int(grade), subject, event)
	for i := 0; i+1 < len(pairs); i += 2 {
		w.add(pairs[i], pairs[i+1])
	}
	return w.String()
}
