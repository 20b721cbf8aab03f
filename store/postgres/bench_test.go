package postgres_test

import (
	"fmt"
	"testing"

	"collect/collection"
	"collect/internal/pgtest"
	"collect/store/postgres"
)

// BenchmarkCommit100Records: slices of 100 new records, each flushed to the disk.
func BenchmarkCommit100Records(b *testing.B) {
	server, err := pgtest.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer server.Remove()
	s := open(b, server.Address("bench"), postgres.Options{Create: true})
	defer s.Close()
	l, err := s.Begin(b.Context(), newRun("run-1"), declared)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		sl := collection.Slice{Place: notes, From: at(n), Next: at(n + 1)}
		for i := range 100 {
			key := fmt.Sprintf("k%06d-%02d", n, i)
			sl.Records = append(sl.Records, collection.Record{Key: key, Data: []byte(`{"id":"` + key + `","text":"some words of a note that is not long"}`)})
		}
		if _, err := l.Commit(b.Context(), sl); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(100*n)/b.Elapsed().Seconds(), "records/s")
}
