package report

import (
	"fmt"
	"strings"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report/problem"
)

// MostKeys bounds the keys of each kind that a [Verification] names.
const MostKeys = 100

// A Verification is what a provider listed, held against what is stored.
type Verification struct {
	Connector string               `json:"connector"`
	Began     jsonout.Time         `json:"began_at"`
	Requests  int64                `json:"requests"`
	Streams   []VerificationStream `json:"streams"`
	Exit      int                  `json:"exit_code"`
}

// A VerificationStream is one stream of a [Verification].
//
// Each record that the provider delivered is counted once: as equal, missing,
// stale, ahead, owed, older or rejected. Vanished records were not delivered.
type VerificationStream struct {
	Stream    string            `json:"stream"`
	Whole     bool              `json:"whole"`      // all that was to be read was read
	Why       string            `json:"why"`        // it is not whole, or nothing was compared; "" otherwise
	Reason    collection.Reason `json:"reason"`     // why it is not whole; "" if no stop is the reason
	Partition int64             `json:"partitions"` // that were read, of a stream with a parent
	Of        int64             `json:"of"`         // partitions that there are

	Delivered int64 `json:"delivered"`
	Equal     int64 `json:"equal"`
	Missing   int64 `json:"missing"`  // the provider has them, and they are not stored
	Stale     int64 `json:"stale"`    // another version is stored than the provider has
	Vanished  int64 `json:"vanished"` // they are stored, and the provider no longer lists them
	Ahead     int64 `json:"ahead"`    // made, changed or deleted since the newest walk began: the next run has them
	Owed      int64 `json:"owed"`     // not stored, and a gap says so
	Older     int64 `json:"older"`    // the provider sent an earlier version than the stored one
	Rejected  int64 `json:"rejected"` // they cannot be stored under a key

	Follows  bool             `json:"follows"` // the stream follows what the provider deletes, so that a vanished record is a difference
	Keys     VerificationKeys `json:"keys"`
	Unsure   string           `json:"unsure"`   // why vanished records may be in the list all the same; "" if it is sure
	Warnings []string         `json:"warnings"` // that the walk gave
	Gaps     int64            `json:"gaps"`     // that a repair left
}

// VerificationKeys names records, at most [MostKeys] of each kind.
type VerificationKeys struct {
	Missing  []string `json:"missing"`
	Stale    []string `json:"stale"`
	Vanished []string `json:"vanished"`
}

// Differs reports whether the stored records are not what the provider has. Where the stream
// does not follow what the provider deletes, a record that it no longer lists is kept.
func (s VerificationStream) Differs() bool {
	return s.Missing+s.Stale > 0 || s.Follows && s.Vanished > 0
}

// Kept returns how many records are stored that the provider no longer lists, which is no difference.
func (s VerificationStream) Kept() int64 {
	if s.Follows {
		return 0
	}
	return s.Vanished
}

// Compared reports whether anything of the stream was compared.
func (s VerificationStream) Compared() bool { return s.Whole || s.Delivered+s.Vanished+s.Partition > 0 }

// Differs reports whether the stored records of any stream are not what the
// provider has.
func (v Verification) Differs() bool {
	for _, s := range v.Streams {
		if s.Differs() {
			return true
		}
	}
	return false
}

// Repairable returns how many records a repair would have collected again.
func (v Verification) Repairable() (n int64) {
	for _, s := range v.Streams {
		n += s.Missing + s.Stale
	}
	return n
}

// Verdict returns the exit code of v: [problem.ExitProtocol] if something differs,
// or else what kept a stream from being read whole. A planned stop is a success.
func (v Verification) Verdict() int {
	codes := []int{problem.ExitOK}
	for _, s := range v.Streams {
		if s.Differs() {
			codes = append(codes, problem.ExitProtocol)
		}
		if s.Reason == "" {
			continue
		}
		if code := problem.ExitOfReason(s.Reason); code != problem.ExitPaused {
			codes = append(codes, code)
		}
	}
	return problem.Worst(codes...)
}

// Sentence says the verdict in a line.
func (v Verification) Sentence() string {
	var equal, differ, part, none []string
	kept := int64(0)
	for _, s := range v.Streams {
		name := words.Clean(s.Stream)
		switch {
		case !s.Compared():
			none = append(none, name)
			continue
		case s.Differs():
			differ = append(differ, name)
		default:
			equal = append(equal, name)
		}
		if kept += s.Kept(); !s.Whole {
			part = append(part, name)
		}
	}
	connector := words.Clean(v.Connector)
	var text string
	switch {
	case len(differ) > 0:
		text = fmt.Sprintf("different: %s of %s is not what the provider has", strings.Join(differ, ", "), connector)
	case len(equal) == 0:
		text = fmt.Sprintf("nothing of %s was compared", connector)
	case len(none) > 0:
		text = fmt.Sprintf("equal: what was compared of %s of %s is what the provider has", strings.Join(equal, ", "), connector)
	default:
		text = fmt.Sprintf("equal: what was compared of %s is what the provider has", connector)
	}
	if kept > 0 {
		text += fmt.Sprintf("; %s kept that it no longer lists", words.Counted(kept, "record is", "records are"))
	}
	if len(part) > 0 {
		text += "; not compared to the end: " + strings.Join(part, ", ")
	}
	if len(none) > 0 && len(equal)+len(differ) > 0 {
		text += "; not compared: " + strings.Join(none, ", ")
	}
	return text + fmt.Sprintf(" (%s)", words.Counted(v.Requests, "request", "requests"))
}
