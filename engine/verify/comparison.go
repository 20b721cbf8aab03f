package verify

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/report"
	"collect/store"
)

// A comparison holds what is delivered of one stream against what is stored. It
// knows keys and bytes by their hashes, so that a stream of a million records
// takes some 100 MB; only keys that differ are kept.
type comparison struct {
	stream collection.Stream
	lane   store.LaneState
	began  time.Time // the verification
	seed   maphash.Seed

	keys       map[uint64]one
	distinct   int64 // keys that were delivered
	differing  map[uint64]different
	shared     map[uint64]bool // keys of two partitions, each of which delivered a record of its own
	rejected   int64
	tombstones bool                          // the provider tells what it deleted
	leaving    int64                         // stored records that the next run marks as deleted
	mark       string                        // that the next walk asks from, as the Value of a mark; "": none
	owed       map[collection.Partition]bool // places with a gap
	fetched    map[uint64]bool               // hashes of the partitions with a stored record
	brought    map[uint64]bool               // keys that the next run has by the token that the newest walk ended with
	newer      map[collection.Partition]bool // whose parents were stored since the newest pass began

	wrong map[collection.Partition]int64 // missing and stale records
}

// one is what is known of one key.
type one struct {
	stored, delivered uint64 // hashes of the bytes; 0: not stored, not delivered
	partition, from   uint64 // hashes of that of the stored record, and of the one that delivered it last
	pass              int64  // the newest pass that delivered it
}

// different is a record that was delivered and is not stored, or not with these
// bytes.
type different struct {
	key       string
	partition collection.Partition
	mark      collection.Mark
	touched   bool // it tells of a time since the newest walk began
}

func newComparison(state store.StreamState, began time.Time) *comparison {
	c := &comparison{
		stream: state.Stream, began: began, seed: maphash.MakeSeed(), keys: map[uint64]one{}, differing: map[uint64]different{},
		shared: map[uint64]bool{}, fetched: map[uint64]bool{},
		owed: map[collection.Partition]bool{}, newer: map[collection.Partition]bool{},
		wrong: map[collection.Partition]int64{},
	}
	c.lane = state.Lanes[0]
	if i := slices.IndexFunc(state.Lanes, func(l store.LaneState) bool { return l.Lane == collection.Incremental }); i >= 0 {
		c.lane = state.Lanes[i]
	}
	c.mark = declarative.MarkValue(c.lane.Since)
	return c
}

// know takes in a stored record.
func (c *comparison) know(r store.Stored) {
	partition := c.hash(string(r.Partition))
	c.fetched[partition] = true
	c.keys[c.hash(r.Key)] = one{stored: c.hash(string(r.Data)), partition: partition}
}

// hash returns a hash of text that is not 0.
func (c *comparison) hash(text string) uint64 { return max(1, maphash.String(c.seed, text)) }

// delivered takes in what came in a slice of a pass. It counts the records whose
// keys the pass had delivered before; before is what it has delivered.
func (c *comparison) delivered(sl *collection.Slice, pass int64, before collection.Evidence) (again collection.Redelivered) {
	c.rejected += int64(len(sl.Rejected))
	from := c.hash(string(sl.Partition))
	fresh := false // one before had not come before in the pass
	for i := range sl.Records {
		r := &sl.Records[i]
		if r.Deleted {
			c.tombstones = true
			continue // it is not there, and what is stored of it has vanished
		}
		h, sum := c.hash(r.Key), max(1, maphash.Bytes(c.seed, r.Data))
		at := c.keys[h]
		if at.delivered == 0 {
			c.distinct++
		} else if at.pass == pass {
			again.Count(r, at.delivered == sum, fresh, &before)
		}
		fresh = fresh || at.delivered == 0 || at.pass != pass && at.from == from
		if at.delivered != 0 && at.from != from && at.delivered != sum {
			c.shared[h] = true
		}
		at.delivered, at.pass, at.from = sum, pass, from
		c.keys[h] = at
		if at.stored == sum {
			delete(c.differing, h)
			continue
		}
		c.differing[h] = different{strings.Clone(r.Key), sl.Partition, r.Mark, c.touched(r.Data)}
	}
	return again
}

// lookAgain compares what differs with a record as it is stored now. whole tells
// whether all of its partition was delivered.
func (c *comparison) lookAgain(r store.Stored, whole func(collection.Partition) bool, told *report.VerificationStream) {
	h := c.hash(r.Key)
	at := c.keys[h]
	if at.delivered == 0 {
		if c.brought[h] {
			told.Ahead++ // the next run marks it as deleted
			c.leaving++
			return
		}
		if at.stored != 0 && r.CommittedAt.Before(c.began) && whole(r.Partition) {
			told.Vanished++
			told.Keys.Vanished = name(told.Keys.Vanished, r.Key)
		}
		return
	}
	d, ok := c.differing[h]
	if !ok {
		return
	}
	delete(c.differing, h)
	switch {
	case c.hash(string(r.Data)) == at.delivered: // a run stored it meanwhile
	case c.shared[h]:
		told.Rejected++
	case r.Mark.After(d.mark):
		told.Older++
	case !r.CommittedAt.Before(c.began), c.ahead(d):
		told.Ahead++
	default:
		told.Stale++
		told.Keys.Stale = name(told.Keys.Stale, d.key)
		c.wrong[d.partition]++
	}
}

// tellMissing tells what was delivered and is not stored, once all that is stored was
// looked at again.
func (c *comparison) tellMissing(told *report.VerificationStream) {
	for _, d := range c.differing {
		switch {
		case c.ahead(d):
			told.Ahead++
		case c.owed[d.partition]:
			told.Owed++
		default:
			told.Missing++
			told.Keys.Missing = append(told.Keys.Missing, d.key)
			c.wrong[d.partition]++
		}
	}
	slices.Sort(told.Keys.Missing)
	told.Keys.Missing = told.Keys.Missing[:min(len(told.Keys.Missing), report.MostKeys)]
}

func name(keys []string, key string) []string {
	if len(keys) < report.MostKeys {
		return append(keys, key)
	}
	return keys
}

// clocks is how far the clock of a provider may be from ours.
const clocks = time.Minute

// ahead reports whether the next run has a record, or this version of it, by
// itself: it is behind the mark that the next walk asks from, it was made or changed
// since the newest walk began, or that walk is still on its way. A detail that is
// fetched once is not had again when it changes.
func (c *comparison) ahead(d different) bool {
	once := c.stream.Refresh == collection.Once
	switch {
	case once && c.keys[c.hash(d.key)].stored != 0:
		return false
	case !c.lane.Complete, c.brought[c.hash(d.key)]:
		return true
	case once:
		return c.newer[d.partition] && !c.fetched[c.hash(string(d.partition))]
	case c.newer[d.partition]:
		return true
	case d.mark == (collection.Mark{}):
		return d.touched
	case c.mark != "" && d.mark.Value > c.mark:
		return true
	}
	if at, err := time.Parse(time.RFC3339Nano, d.mark.Value); err == nil {
		return c.since(lastMoment(at, d.mark.Value))
	}
	return d.touched
}

// since reports whether a time is not before the newest walk began, as far as two
// clocks can tell.
func (c *comparison) since(at time.Time) bool { return !at.Before(c.lane.Began.Add(-clocks)) }

// lastMoment returns the last moment that a time may mean which was written
// without what is smaller than a day, or than a second.
func lastMoment(at time.Time, text string) time.Time {
	switch {
	case strings.Contains(text, "T00:00:00.000000000"):
		return at.Add(24 * time.Hour)
	case strings.Contains(text, ".000000000"):
		return at.Add(time.Second)
	}
	return at
}

// touched reports whether a record has a field that says a time between the
// beginning of the newest walk and now. A time that is to come, as a due date is,
// says nothing of when the record was made.
func (c *comparison) touched(data []byte) bool {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return false
	}
	return c.tells(value)
}

func (c *comparison) tells(value any) bool {
	switch value := value.(type) {
	case string:
		at, err := time.Parse(time.RFC3339, value)
		return err == nil && c.lately(at)
	case json.Number:
		n, err := strconv.ParseFloat(value.String(), 64)
		return err == nil && (c.lately(time.Unix(int64(n), 0)) || c.lately(time.UnixMilli(int64(n))))
	case []any:
		return slices.ContainsFunc(value, c.tells)
	case map[string]any:
		for _, member := range value {
			if c.tells(member) {
				return true
			}
		}
	}
	return false
}

func (c *comparison) lately(at time.Time) bool {
	return c.since(at) && !at.After(time.Now().Add(clocks))
}
