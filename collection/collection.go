// Package collection holds the nouns of collect: the things that are collected, the
// position of a walk, the gaps that are owed, and the reasons of a stop.
//
// The words are meant literally and used everywhere, in code, help and JSON:
//
//   - a connector offers streams of one provider; a [Stream] is one kind of
//     record with a key;
//   - a [Partition] is one parent (a repository, an account) inside a stream;
//   - a [Lane] is one way through a stream with a checkpoint of its own;
//   - a [Slice] is the smallest unit that is saved: whole, or not at all;
//   - a [Cursor] is where a walk stands; a [Checkpoint] is a cursor that was
//     committed together with the records before it;
//   - a [Gap] is a piece that is owed, with a [Reason] and a next step;
//   - a [Stop] is the typed error that ends a slice, a partition or a run.
//
// The package decides nothing and does no I/O. It imports the standard
// library only, and every other package may import it.
package collection

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Stream is one kind of record a connector offers.
type Stream struct {
	Name    string
	Role    Role
	Parent  string // the stream whose records are its partitions; "" for none
	Refresh Refresh
	Ordered bool // records arrive oldest first; see [Cursor]
	Sweeps  bool // a complete walk marks the records as deleted that it did not show

	// Wider is, for people, the key as a connector file would have it that also has what
	// tells the partitions apart, as [repo, id]; "" if there is none.
	Wider string
}

// A Role says what a failure costs: a list's walk, or one detail.
type Role string

// The roles of a stream.
const (
	List   Role = "list"
	Detail Role = "detail" // fetched per parent record; a failure is one gap, never the stream's
)

// A Refresh says when a partition that was collected is collected again.
type Refresh string

// The refreshes of a partitioned stream.
const (
	EachRun     Refresh = "each_run"     // every run walks it again, from its high-water mark if it has one
	WhenChanged Refresh = "when_changed" // when the parent's version differs from the one collected
	Once        Refresh = "once"         // never again
)

// A Lane is one way through a stream. Each lane has its own checkpoint, and a
// backfill never moves the incremental one.
type Lane string

// The two lanes.
const (
	Incremental Lane = "incremental"
	Backfill    Lane = "backfill"
)

// A Partition identifies one parent inside a stream: a JSON object of the
// values that the parent binds, with its names sorted, such as
// {"n":12,"repo":"acme/api"}. A stream without parents has the partition "".
type Partition string

// NewPartition returns the partition of vars, whose values are JSON scalars
// exactly as the provider sent them. It is "" when vars is empty.
func NewPartition(vars map[string]json.RawMessage) Partition {
	if len(vars) == 0 {
		return ""
	}
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(vars)) {
		b.WriteByte("{,"[min(i, 1)])
		quoted, _ := json.Marshal(name) // a string always marshals
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(vars[name])
	}
	b.WriteByte('}')
	return Partition(b.String())
}

// Vars returns the values that the partition binds, as JSON scalars. It
// returns an error if p was not made by [NewPartition].
func (p Partition) Vars() (map[string]json.RawMessage, error) {
	vars := map[string]json.RawMessage{}
	if p == "" {
		return vars, nil
	}
	if err := json.Unmarshal([]byte(p), &vars); err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	return vars, nil
}

// String returns the partition for people: n=12 repo=acme/api.
func (p Partition) String() string {
	vars, err := p.Vars()
	if err != nil {
		return string(p)
	}
	bound := slices.Sorted(maps.Keys(vars))
	for i, name := range bound {
		value := string(vars[name])
		var text string
		if json.Unmarshal(vars[name], &text) == nil {
			value = text
		}
		bound[i] = name + "=" + value
	}
	return strings.Join(bound, " ")
}

// A Place is where a checkpoint lives: one lane of one partition of a stream.
// The place with Partition "" of a partitioned stream holds the pass over its
// partitions.
type Place struct {
	Stream    string
	Partition Partition
	Lane      Lane
}

// A Cursor is where a walk stands. It is compared as a whole, and only the
// connector that made it reads it.
//
// A walk begins with an empty Token and ends with Done. The next walk begins
// again with an empty Token and with what Since, the high-water mark, and High
// have become.
type Cursor struct {
	Token   string // the provider's token of the next slice, byte for byte; "" at the start of a walk
	Since   string // the high-water mark this walk asks from; "" asks for everything
	High    string // what else the connector must know there: of an unordered walk the highest mark, which becomes Since when it is done
	Version string // the version of the parent, or the pass, that this walk covers
	Done    bool   // the walk reached its end
	Meaning string // the connector's own note of what the others say something about; "" says nothing
}

// Digest identifies the cursor in a store: SHA-256 of its parts, each with its length in
// front, so that no two cursors share an encoding.
func (c Cursor) Digest() []byte {
	var b []byte
	for _, part := range []string{c.Token, c.Since, c.High, c.Version} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	if c.Done {
		b = append(b, 1)
	}
	if c.Meaning != "" { // older cursors have none, and keep their digest
		b = append(b, 2)
		b = append(binary.AppendUvarint(b, uint64(len(c.Meaning))), c.Meaning...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// A Checkpoint is a committed cursor: everything before it is stored.
type Checkpoint struct {
	Place
	Cursor
	Commit  int64 // the commit that wrote it; 0 if there was none
	Epoch   int64 // the lease epoch it was written under
	SavedAt time.Time

	Evidence Evidence // of the newest pass; zero for a walk that one page ends and says nothing of
}

// Begun returns the commit that began the newest pass of a walk.
func (c Checkpoint) Begun() int64 { return cmp.Or(c.Evidence.Pass, c.Commit) }

// A Record is one thing a provider gave, with its bytes as they came.
type Record struct {
	Key  string // unique in the stream
	Data []byte // one JSON object, exactly as the provider sent it
	Mark Mark   // of this version; the zero Mark if the provider does not say

	// Deleted: the provider says that it deleted the record. Data is what it says so
	// with, and is not stored: the data that came before is kept.
	Deleted bool

	Sent []byte // the element that Data was made of; nil: Data itself
}

// Bytes returns what the provider sent for the record.
func (r *Record) Bytes() []byte {
	if r.Sent != nil {
		return r.Sent
	}
	return r.Data
}

// A Mark tells of two versions of a record which is the later one. The
// connector that made it knows what it means; everything else compares it.
type Mark struct {
	Scale string // what Value counts: only marks of one scale compare; "" is no mark
	Value string // text that sorts bytewise in the order of the versions
}

// After reports whether m is of a later version than o. Where that cannot be
// told, or they are of the same version, it is not.
func (m Mark) After(o Mark) bool { return m.Scale == o.Scale && m.Value > o.Value }

// A Parent is a stored record that partitions of another stream are made of.
type Parent struct {
	Partition Partition // of its own stream
	Record
	Commit int64 // that stored these bytes
}

// A Rejected is a record that cannot be stored under a key. It is kept in
// quarantine, counted and never dropped. Of one that is too large only a part is
// kept: see [Shortened].
type Rejected struct {
	Data   []byte
	Reason string // no_key, bad_key, key_collision, contested, too_large, too_deep, not_an_object, schema_drift
	Key    string // that it would be stored under, if a record that is stored under it later takes its place; "" if not
}

// Held are records that came, and are in quarantine while their piece is owed.
type Held struct{ Records []Rejected }

// Drifted holds records that changed their nature.
func Drifted(records []Record) *Held {
	held := &Held{make([]Rejected, len(records))}
	for i, r := range records {
		held.Records[i] = Rejected{Data: r.Data, Reason: string(SchemaDrift), Key: r.Key}
	}
	return held
}

// mostRejected is how many bytes are kept of a reject that is larger than a record may
// be, or that is no record: a server could have 64 MiB stored for 64 KiB on the wire.
const mostRejected = 64 << 10

// Shortened returns what quarantine keeps of data: all of it up to 64 KiB, or
// else one line with its length and SHA-256, and its first 64 KiB, which do not
// hold on to the rest.
func Shortened(data []byte) []byte {
	if len(data) <= mostRejected {
		return data
	}
	head := fmt.Sprintf("%d bytes with the SHA-256 %x, of which these are the first %d:\n", len(data), sha256.Sum256(data), mostRejected)
	return append([]byte(head), data[:mostRejected]...)
}

// KeyCollision is why a record is rejected whose key is that of another one. Until it is known whether
// it is another one, it is in quarantine as [Contested].
const KeyCollision = "key_collision"

// A Slice is the smallest unit of a walk: a page, or the detail of one
// parent. Its records are stored in the transaction that moves the checkpoint
// of its place from From to Next, or not at all.
//
// A slice whose From is not the checkpoint but the cursor of a gap fills that
// gap and leaves the checkpoint where it is; see [Slice.Fills].
type Slice struct {
	Place
	From, Next Cursor
	Records    []Record
	Rejected   []Rejected
	Fills      int64 // the id of a gap behind the checkpoint that this slice fills; 0 for forward work
	Leaves     *Gap  // the gap this slice leaves at From in place of records that cannot be had, or at Next if it Fills a part of one; nil: none
	Warnings   []Warning
	Told       Told  // what the page says of the whole list
	Span       *Span // the window of time that is whole with this slice; nil: none

	// Decides says what became of the records of the place that are in quarantine as [Contested]. Of these, the
	// slice has those that its list shows. nil: it decides nothing.
	Decides *Decision

	// Else is where the checkpoint moves instead of to Next if the evidence,
	// this slice included, contradicts that the pass delivered all there is:
	// the start of another pass. nil: nothing is asked of the evidence.
	Else *Cursor

	// Anew: nothing came, and a gap at From is owed at Next: the provider refused From, and
	// the walk begins anew, or a pass goes on elsewhere.
	Anew bool

	Spent Tally // what its run had spent by then: requests, retries and throttle signals
}

// A Decision says what became of the contested records of a place.
type Decision struct {
	Moved   []string // the keys of those that moved there, in order; the other ones of the slice have a shared key
	Unknown []string // the keys of those that neither list shows, and one of them is not there any more: they stay in quarantine
	Shared  bool     // nothing was read, since the key is known to be shared: all of them have collided
}

// A Contest is the contested records of a place that one partition has. It is the place's own where a sweep
// handed it the stored version.
type Contest struct {
	Partition Partition // its records are stored
	Keys      []string  // in order
}

// A Span is a window of time whose list was walked to its end, and how many records
// the provider had for it.
type Span struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"` // excluded
	Records int       `json:"records"`
}
