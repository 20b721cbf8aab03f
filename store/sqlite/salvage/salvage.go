package salvage

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/sqlite/internal/disk"
	"collect/store/sqlite/internal/fileformat"
)

// A Reader reads the records that a damaged database still holds. It looks at
// each page for itself, in the file and in its log, and takes a row for a
// record only if its sum says so. So a broken page costs what stood on it and
// no more, also if it is the first; and nothing comes out that did not go in.
//
// A record may have been about to be replaced, or about to be committed: of
// the versions that are found the one of the newest commit counts.
type Reader struct {
	pages      *fileformat.Pages
	streams    map[int64]foundStream
	partitions map[int64]string
	commits    map[int64]foundCommit
	newest     map[recordID]int64 // the newest commit that stored each record; about 60 bytes a record
	found      map[int64]int64    // records by stream
}

type foundStream struct {
	connector, name string
	records         int64 // that it had; -1: not known
}

type foundCommit struct {
	run string
	at  time.Time
}

// A recordID tells a record by its stream and key, in few bytes.
type recordID [16]byte

func idOf(stream int64, key string) recordID {
	sum := sha256.Sum256(append(binary.AppendVarint(nil, stream), key...))
	return recordID(sum[:16])
}

// Open reads all pages of the database at path, which changes nothing.
// No run should be writing to it. Like [CheckLog], it must be called while no
// store of this process is open there.
func Open(ctx context.Context, path string) (*Reader, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	if _, err := disk.Find(path); err != nil {
		return nil, err
	}
	s := &Reader{
		streams: map[int64]foundStream{}, partitions: map[int64]string{}, commits: map[int64]foundCommit{},
		newest: map[recordID]int64{}, found: map[int64]int64{},
	}
	if s.pages, err = fileformat.OpenPages(path); err != nil {
		return nil, disk.NoAccess(path, err)
	}
	if err := s.scan(ctx, s.collect); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for stream := range s.found {
		if _, ok := s.streams[stream]; !ok {
			s.streams[stream] = foundStream{lostName, strconv.FormatInt(stream, 10), -1}
		}
	}
	return s, nil
}

// lostName stands for the connector of streams whose own row cannot be read;
// they are named by their number.
const lostName = "lost"

// Close closes the files.
func (s *Reader) Close() error { return s.pages.Close() }

// scan calls row with the rows of all tables.
func (s *Reader) scan(ctx context.Context, row func(number int64, values []any)) error {
	return s.pages.Each(func(page []byte) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		s.pages.Rows(page, row)
		return nil
	})
}

// collect takes in a row. Tables are told apart by the kinds of their columns,
// since the tree that assigns pages to tables may be broken.
func (s *Reader) collect(number int64, v []any) {
	if r, ok := asRecord(v); ok {
		id := idOf(r.stream, r.key)
		old, again := s.newest[id]
		if !again {
			s.found[r.stream]++
		}
		s.newest[id] = max(old, r.version())
		return
	}
	switch {
	case kinds(v, "-sssssiisi"): // streams; a newer copy knows of more records
		if old, ok := s.streams[number]; !ok || old.records <= v[9].(int64) {
			s.streams[number] = foundStream{v[1].(string), v[2].(string), v[9].(int64)}
		}
	case kinds(v, "-is"): // partitions
		s.partitions[number] = v[2].(string)
	case kinds(v, "-issiiiiiiis"), kinds(v, "-issiiiiiiisi"), kinds(v, "-issiiiiiiisii"), kinds(v, "-issiiiiiiisiis"): // slices, before and after they counted older records, and deleted ones, and noted windows
		if at, err := time.Parse(time.RFC3339Nano, v[11].(string)); err == nil {
			s.commits[number] = foundCommit{v[3].(string), at}
		}
	}
}

// kinds reports whether a row has these kinds of values: - for none (the
// number of the row stands there), i for an integer, s for text.
func kinds(v []any, want string) bool {
	if len(v) != len(want) {
		return false
	}
	for i, value := range v {
		ok := false
		switch want[i] {
		case '-':
			ok = value == nil
		case 'i':
			_, ok = value.(int64)
		case 's':
			_, ok = value.(string)
		}
		if !ok {
			return false
		}
	}
	return true
}

// A foundRecord is a row of records whose sum is right.
type foundRecord struct {
	stream, partition, slice int64
	key, data                string
	mark                     collection.Mark
	deleted                  int64 // the commit that marked it so; 0: it is not
}

// version is higher in the newer one of two copies of a record.
func (r foundRecord) version() int64 { return max(r.slice, r.deleted) }

func asRecord(v []any) (r foundRecord, ok bool) {
	// Marks came with a later version of the schema, and the pass with the next.
	// What may be deleted has a column more.
	deletable := kinds(v, "-isiisissii")
	unmarked, marked := kinds(v, "-isiisi"), deletable || kinds(v, "-isiisiss") || kinds(v, "-isiisissi")
	if !unmarked && !marked {
		return r, false
	}
	r = foundRecord{stream: v[1].(int64), partition: v[3].(int64), slice: v[4].(int64), key: v[2].(string), data: v[5].(string)}
	if marked {
		r.mark = collection.Mark{Scale: v[7].(string), Value: v[8].(string)}
	}
	if deletable {
		r.deleted = v[10].(int64)
	}
	return r, v[6].(int64) == format.RecordSum(r.stream, r.partition, r.slice, r.key, r.data, r.mark, r.deleted)
}

// Streams returns the streams that had records, or some of whose records were
// found, as connector and name, in their order.
func (s *Reader) Streams() (names [][2]string) {
	for id, stream := range s.streams {
		if s.found[id] > 0 || stream.records > 0 {
			names = append(names, [2]string{stream.connector, stream.name})
		}
	}
	slices.SortFunc(names, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return names
}

// Count returns how many records of a stream were found, and how many it had;
// -1 if that is not known.
func (s *Reader) Count(connector, stream string) (found, had int64) {
	id, _ := s.stream(connector, stream)
	if had = s.streams[id].records; had < s.found[id] {
		had = -1 // the number is damaged, too
	}
	return s.found[id], had
}

func (s *Reader) stream(connector, name string) (int64, bool) {
	for id, stream := range s.streams {
		if stream.connector == connector && stream.name == name {
			return id, true
		}
	}
	return 0, false
}

// Fields returns the top-level fields of the records that were found, the
// first 2000 that are seen.
func (s *Reader) Fields(ctx context.Context, connector, stream string) (names []string, err error) {
	seen := map[string]bool{}
	for r, err := range s.Records(ctx, connector, stream) {
		if err != nil {
			return nil, err
		}
		gjson.ParseBytes(r.Data).ForEach(func(key, _ gjson.Result) bool {
			if !seen[key.Str] && len(seen) < store.MostFields {
				seen[key.Str] = true
				names = append(names, key.Str)
			}
			return true
		})
	}
	return names, nil
}

// Records yields each record of a stream that was found, once, in no
// particular order.
func (s *Reader) Records(ctx context.Context, connector, stream string) iter.Seq2[store.Stored, error] {
	return func(yield func(store.Stored, error) bool) {
		id, ok := s.stream(connector, stream)
		if !ok {
			yield(store.Stored{}, fmt.Errorf("no record of %s/%s was found", connector, stream))
			return
		}
		done := map[recordID]bool{}
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		err := s.scan(ctx, func(_ int64, v []any) {
			r, ok := asRecord(v)
			if !ok || r.stream != id || ctx.Err() != nil {
				return
			}
			key := idOf(r.stream, r.key)
			if done[key] || s.newest[key] != r.version() {
				return
			}
			done[key] = true
			if !yield(s.stored(r), nil) {
				stop(database.ErrEnough)
			}
		})
		if err != nil && !errors.Is(err, database.ErrEnough) {
			yield(store.Stored{}, err)
		}
	}
}

// stored returns a record with its commit, as far as that is known.
func (s *Reader) stored(r foundRecord) store.Stored {
	commit, deleted := s.commits[r.slice], s.commits[r.deleted]
	return store.Stored{
		Record:    collection.Record{Key: r.key, Data: []byte(r.data), Mark: r.mark, Deleted: r.deleted != 0},
		Partition: collection.Partition(s.partitions[r.partition]),
		Run:       commit.run, CommittedAt: commit.at,
		DeletedBy: deleted.run, DeletedAt: deleted.at,
	}
}
