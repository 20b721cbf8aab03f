package provider

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The ages of records start here. It is a constant so that two servers with
// one seed serve the same bytes on any day.
var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// Names that break a careless reader: precomposed and combining accents,
// right-to-left text, characters outside the basic plane, raw and escaped, and
// escapes that a re-encoder writes differently.
var names = [...]string{
	`Zo\u00eb Mu\u0301ller`, `Łódź`, `東京 \ud83d\udefc`, `مرحبا`, `a\/b <&> \"q\"`, `🦉 owl`, `tab\tnew\nline`, `plain`,
}

// A dataset holds the records of all streams, rendered.
type dataset struct {
	parents  [][]byte
	children [][][]byte // by parent
	flat     func() [][]byte

	mu      sync.RWMutex
	tickets []ticket // by id, from 1
	updated []int    // indexes into tickets, oldest update first, ties by id
	latest  time.Time
}

// A ticket is a record of a list together with its detail.
type ticket struct {
	id      int
	version int
	updated time.Time
	record  []byte
	detail  []byte
}

func newDataset(script Script) *dataset {
	rnd := rand.New(rand.NewPCG(script.Seed, 1))
	d := &dataset{tickets: make([]ticket, script.Tickets)}
	for i, at := range rnd.Perm(script.Tickets) { // the order of updates is not that of ids
		// Seven tickets share each minute, so that pages of 100 end inside ties.
		updated := epoch.Add(time.Duration(at/7) * time.Minute)
		d.tickets[i] = newTicket(script.Seed, i+1, 1, updated)
	}
	d.latest = epoch.Add(time.Duration(script.Tickets/7) * time.Minute)
	d.sortByUpdate()
	d.addParents(script.Parents, rnd)
	d.flat = sync.OnceValue(func() [][]byte { return newFlat(script.Seed, script.Flat) })
	return d
}

// newFlat renders the flat records, of about 150 bytes each.
func newFlat(seed uint64, n int) [][]byte {
	rnd := rand.New(rand.NewPCG(seed, 2))
	flat := make([][]byte, n)
	for i := range flat {
		flat[i] = fmt.Appendf(nil,
			`{"id":%d,"name":"record %d","amount":%d.%02d,"active":%t,"created_at":"%s","country":"%c%c","score":%d}`,
			i+1, i+1, rnd.IntN(1000), rnd.IntN(100), rnd.IntN(2) == 0,
			stamp(epoch.Add(time.Duration(i)*time.Second)),
			'A'+rnd.IntN(26), 'A'+rnd.IntN(26), rnd.IntN(1_000_000))
	}
	return flat
}

// newTicket renders a version of a ticket. The same arguments give the same
// bytes.
func newTicket(seed uint64, id, version int, updated time.Time) ticket {
	rnd := rand.New(rand.NewPCG(seed, uint64(id)<<16|uint64(version)))
	at := stamp(updated)
	name := names[rnd.IntN(len(names))]
	record := fmt.Appendf(nil,
		`{"id":%d,"serial":%d,"title":"ticket %d of %s","status":"%s","price":%d.%d00,"ratio":%de-3,"open":%t,"owner":{"name":"%s","tags":["a","",null]},"comments":%d,"version":%d,"updated_at":"%s"}`,
		id, 1<<53+1+rnd.Int64N(1<<61), id, name, [...]string{"open", "closed", "waiting"}[rnd.IntN(3)],
		rnd.IntN(1000), rnd.IntN(10), rnd.IntN(1000), rnd.IntN(2) == 0, name, rnd.IntN(9), version, at)
	if id%50 == 0 {
		// White space that a reader must keep: a record is stored as it came.
		// No line ends, so that records are also the lines of a file.
		record = fmt.Appendf(nil, "{ \"id\" : %d ,\t\"version\":%d, \"updated_at\" :\"%s\" }", id, version, at)
	}
	detail := fmt.Appendf(nil,
		`{"id":%d,"version":%d,"updated_at":"%s","description":"%s, at length: %x","history":[`,
		id, version, at, name, rnd.Uint64())
	for i := range 1 + rnd.IntN(4) {
		detail = fmt.Appendf(detail, `%s{"step":%d,"by":%d,"cost":%d.50}`, [...]string{"", ","}[min(i, 1)], i+1, rnd.Uint64()>>1, i)
	}
	detail = append(detail, "]}"...)
	return ticket{id: id, version: version, updated: updated, record: record, detail: detail}
}

// stamp is a time as tickets carry it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// addParents makes parents with the numbers of children that walks get wrong:
// none, one, a page but one, a page, a page and one, several full pages.
func (d *dataset) addParents(parents int, rnd *rand.Rand) {
	sizes := [...]int{0, 1, 99, 100, 101, 200, 37}
	for i := range parents {
		n := sizes[i%len(sizes)]
		d.parents = append(d.parents, fmt.Appendf(nil,
			`{"id":%d,"slug":"p/%d x","name":"%s","children":%d}`, i+1, i+1, names[i%len(names)], n))
		children := make([][]byte, n)
		for j := range children {
			children[j] = fmt.Appendf(nil, `{"id":"c%d-%d","parent_id":%d,"n":%d,"weight":%d.%d0}`,
				i+1, j+1, i+1, j+1, rnd.IntN(100), rnd.IntN(10))
		}
		d.children = append(d.children, children)
	}
}

func (d *dataset) sortByUpdate() {
	d.updated = d.updated[:0]
	for i := range d.tickets {
		d.updated = append(d.updated, i)
	}
	slices.SortFunc(d.updated, func(a, b int) int {
		return cmp.Or(d.tickets[a].updated.Compare(d.tickets[b].updated), cmp.Compare(a, b))
	})
}

// Touch updates tickets: each gets a new version and a time of update after
// all others. Ids that do not exist are ignored.
func (s *Server) Touch(ids ...int) {
	d := s.data
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if id < 1 || id > len(d.tickets) {
			continue
		}
		d.latest = d.latest.Add(time.Minute)
		d.tickets[id-1] = newTicket(s.script.Seed, id, d.tickets[id-1].version+1, d.latest)
	}
	d.sortByUpdate()
}

// Records returns the records of a stream as they are served now, byte for
// byte: tickets, details, parents, children or flat, in the order of their
// ids. It returns nil for any other name.
func (s *Server) Records(stream string) [][]byte {
	d := s.data
	d.mu.RLock()
	defer d.mu.RUnlock()
	var records [][]byte
	switch stream {
	case "tickets", "details":
		for _, t := range d.tickets {
			if stream == "tickets" {
				records = append(records, t.record)
			} else {
				records = append(records, t.detail)
			}
		}
	case "parents":
		records = slices.Clone(d.parents)
	case "children":
		records = slices.Concat(d.children...)
	case "flat":
		records = slices.Clone(d.flat())
	}
	for i, r := range records {
		records[i] = slices.Clone(r)
	}
	return records
}

// ticket returns the ticket that a path segment names.
func (d *dataset) ticket(segment string) (ticket, bool) {
	id, err := strconv.Atoi(segment)
	if err != nil || id < 1 || id > len(d.tickets) {
		return ticket{}, false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.tickets[id-1], true
}
