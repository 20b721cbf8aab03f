package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
)

// BenchmarkCommit100Records measures what a page of 100 new records of 250
// bytes costs, durably, with keys in order and with keys at random.
func BenchmarkCommit100Records(b *testing.B) {
	for _, keys := range []string{"ascending", "random"} {
		b.Run(keys, func(b *testing.B) {
			_, l := benchStore(b)
			at := collection.Place{Stream: "issues", Lane: collection.Incremental}
			benchCommits(b, l, 100, keys == "random", func(int) (collection.Place, bool) { return at, false })
		})
	}
}

// BenchmarkCommit1Record measures what a page of one record costs: a detail, of
// which each parent has one.
func BenchmarkCommit1Record(b *testing.B) {
	_, l := benchStore(b)
	at := collection.Place{Stream: "issues", Lane: collection.Incremental}
	benchCommits(b, l, 1, false, func(int) (collection.Place, bool) { return at, false })
}

// BenchmarkBegin measures the beginning and the end of a run, of a connector
// that ran before.
func BenchmarkBegin(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "state.db"), sqlite.Options{Create: true})
	defer s.Close()
	for i := 0; b.Loop(); i++ {
		l := begin(b, s, "acme", strconv.Itoa(i))
		if err := l.Finish(b.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLease measures a look for gaps where there are none, as most runs
// take.
func BenchmarkLease(b *testing.B) {
	_, l := benchStore(b)
	now := time.Now()
	for b.Loop() {
		if _, err := l.Lease(b.Context(), collection.Incremental, []string{"issues", "comments"}, now, 10); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlaces measures what is asked before a partition is walked.
func BenchmarkPlaces(b *testing.B) {
	_, l := benchStore(b)
	at := []collection.Place{{Stream: "issues", Lane: collection.Incremental}}
	mustCommit(b, l, collection.Slice{Place: at[0], Next: collection.Cursor{Token: "1"}})
	for b.Loop() {
		if _, err := l.Places(b.Context(), at); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommitWith100kPartitions measures the same where each page is of
// one of 100,000 partitions that have a checkpoint already.
func BenchmarkCommitWith100kPartitions(b *testing.B) {
	const partitions = 100_000
	_, l := benchStore(b)
	place := func(i int) collection.Place {
		p := collection.Partition(fmt.Sprintf(`{"n":%d,"repo":"acme/api"}`, i))
		return collection.Place{Stream: "comments", Partition: p, Lane: collection.Incremental}
	}
	var group []collection.Slice
	for i := range partitions {
		group = append(group, collection.Slice{Place: place(i), Next: collection.Cursor{Token: "0"}})
		if len(group) == 1000 {
			if _, err := l.Commit(b.Context(), group...); err != nil {
				b.Fatal(err)
			}
			group = group[:0]
		}
	}
	benchCommits(b, l, 100, false, func(i int) (collection.Place, bool) { return place(i * 7919 % partitions), true })
}

// BenchmarkCommitGroup measures 16 pages of 100 records, of different places,
// that share one commit and its flush.
func BenchmarkCommitGroup(b *testing.B) {
	_, l := benchStore(b)
	group := make([]collection.Slice, 16)
	for p := range group {
		group[p].Stream, group[p].Lane = "comments", collection.Incremental
		group[p].Partition = collection.Partition(fmt.Sprintf(`{"n":%d}`, p))
		group[p].Records = make([]collection.Record, 100)
	}
	n := 0
	for b.Loop() {
		for p := range group {
			for i := range group[p].Records {
				r := &group[p].Records[i]
				r.Key, r.Data = strconv.Itoa(1_000_000_000+n), fmt.Appendf(r.Data[:0], recordFormat, n, n)
				n++
			}
			group[p].From, group[p].Next = group[p].Next, collection.Cursor{Token: strconv.Itoa(n)}
		}
		if _, err := l.Commit(b.Context(), group...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkCommitDetails measures 16 details of 16 parents that share one commit: each
// is a slice of one record in a partition of its own that is new.
func BenchmarkCommitDetails(b *testing.B) {
	_, l := benchStore(b)
	group := make([]collection.Slice, 16)
	n := 0
	for b.Loop() {
		for i := range group {
			group[i] = collection.Slice{Place: partitionOf(n), Next: collection.Cursor{Version: "1", Done: true},
				Records: []collection.Record{{Key: strconv.Itoa(1_000_000_000 + n), Data: fmt.Appendf(nil, recordFormat, n, n)}}}
			n++
		}
		if _, err := l.Commit(b.Context(), group...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

// benchCommits commits pages of so many records, one by one.
func benchCommits(b *testing.B, l store.Ledger, size int, random bool, place func(i int) (at collection.Place, started bool)) {
	cursors := map[collection.Place]collection.Cursor{}
	records := make([]collection.Record, size)
	n := 0
	for i := 0; b.Loop(); i++ {
		at, started := place(i)
		from, ok := cursors[at]
		if !ok && started {
			from = collection.Cursor{Token: "0"}
		}
		for j := range records {
			id := n
			if random {
				id = n * 2_654_435_761 % 1_000_000_007
			}
			records[j].Key = strconv.Itoa(1_000_000_000 + id)
			records[j].Data = fmt.Appendf(records[j].Data[:0], recordFormat, id, n)
			n++
		}
		next := collection.Cursor{Token: strconv.Itoa(i + 1)}
		_, err := l.Commit(b.Context(), collection.Slice{Place: at, From: from, Next: next, Records: records})
		if err != nil {
			b.Fatal(err)
		}
		cursors[at] = next
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

// recordFormat is a record of about 250 bytes and 12 fields.
const recordFormat = `{"id":%d,"number":%d,"title":"Connection is reset when the page is large","state":"open","locked":false,` +
	`"user":{"login":"someone","id":583231},"labels":["bug","net"],"comments":3,"assignee":null,` +
	`"created_at":"2026-11-21T04:07:45Z","updated_at":"2026-11-21T04:17:28Z","score":1.0}`

// BenchmarkFlush measures the bare flush that a commit cannot do without: one
// page appended to a file of the same directory.
func BenchmarkFlush(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "flush"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for b.Loop() {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchStore(b *testing.B) (*sqlite.Store, store.Ledger) {
	s := open(b, filepath.Join(b.TempDir(), "state.db"), sqlite.Options{Create: true})
	b.Cleanup(func() { s.Close() })
	run := collection.Run{ID: "run-1", Connector: "acme", Lane: collection.Incremental, StartedAt: time.Now()}
	l, err := s.Begin(b.Context(), run, []collection.Stream{{Name: "issues"}, {Name: "comments", Parent: "issues"}})
	if err != nil {
		b.Fatal(err)
	}
	return s, l
}

// BenchmarkPartitions measures what depends on the number of partitions: what
// status asks, and what a pass asks until it finds one that is to be collected,
// when it goes on behind all the others.
func BenchmarkPartitions(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		s, l := benchStore(b)
		const page = 500
		at := collection.Place{Stream: "issues", Lane: collection.Incremental}
		from := collection.Cursor{}
		for i := 0; i < n; i += page {
			list := collection.Slice{Place: at, From: from, Next: pageCursor(i + page)}
			slices := make([]collection.Slice, 0, page+1)
			for j := i; j < i+page; j++ {
				list.Records = append(list.Records, collection.Record{Key: fmt.Sprintf("%07d", j), Data: fmt.Appendf(nil, `{"id":"%07d"}`, j)})
				slices = append(slices, collection.Slice{Place: partitionOf(j), Next: collection.Cursor{Version: "1", Done: true}})
			}
			mustCommit(b, l, append(slices, list)...)
			from = list.Next
		}
		b.Run(fmt.Sprintf("status/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Streams(b.Context(), "acme"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("pass/%d", n), func(b *testing.B) {
			for b.Loop() {
				places := make([]collection.Place, 0, page)
				for i := 0; i < n; i += page {
					if _, err := l.Parents(b.Context(), "issues", fmt.Sprintf("%07d", i-1), page); err != nil {
						b.Fatal(err)
					}
					places = places[:0]
					for j := i; j < i+page; j++ {
						places = append(places, partitionOf(j))
					}
					states, err := l.Places(b.Context(), places)
					if err != nil || !states[0].Checkpoint.Done {
						b.Fatalf("Places = %+v, %v, want partitions that are done", states[0], err)
					}
				}
			}
		})
	}
}

// partitionOf is the place of the comments of issue n.
func partitionOf(n int) collection.Place {
	return collection.Place{Stream: "comments", Partition: collection.Partition(fmt.Sprintf(`{"id":"%07d"}`, n)), Lane: collection.Incremental}
}
