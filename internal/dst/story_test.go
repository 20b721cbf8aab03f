package dst_test

import (
	"fmt"
	"strings"
	"time"
)

// What becomes of a history is noted as it comes about, and told if somebody asks.

func (h *history) violate(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.violateLocked(format, args...)
}

func (h *history) violateLocked(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	h.violations = append(h.violations, text)
	h.noteLocked("VIOLATION %s", text)
}

func (h *history) failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.violations) > 0
}

func (h *history) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteLocked(format, args...)
}

func (h *history) noteLocked(format string, args ...any) {
	h.log = append(h.log, entry{time.Now(), format, args})
}

// An entry is a line of the story of a history. Few are told, so that only
// those are formatted: what args lead to must not change.
type entry struct {
	at     time.Time
	format string
	args   []any
}

func (e entry) String() string { return clock(e.at) + " " + fmt.Sprintf(e.format, e.args...) }

func (h *history) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[what]++
}

func clock(t time.Time) string { return t.UTC().Format("02 15:04:05.000") }

// String tells the history, for people.
func (h *history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s\n", h.plan.seed, h.plan)
	for _, e := range h.log {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String() + strings.Join(h.violations, "\n")
}
