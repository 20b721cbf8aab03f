package dst_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A world is what the provider has: items, a detail of each, and notes on
// each. Everything in it has a version that only grows, and the time at which
// it got it, so that what was there at any time can be told.
type world struct {
	plan   plan
	random *rand.Rand
	fates  *rand.Rand               // of what is deleted
	items  []*item                  // by number
	order  []*item                  // in the order of the list; nil: it has changed
	byID   map[string]*item         // those that have one
	last   time.Time                // of the newest change
	tokens map[string]map[string]at // what a token of a path stands for
}

// An at is a position in a list: behind what changed at the time, by number.
type at struct {
	changed time.Time
	number  int
}

// An item is one thing of the world. Its detail has its versions.
type item struct {
	id      string // "" is an item without a key
	number  int    // in the order of creation
	history []time.Time
	sent    sent
	notes   []time.Time // when each was written
	gone    bool        // its detail is
	drift   bool        // its first version has no time of change
	turns   []time.Time // when it was deleted, came again, was deleted again …
}

// sent is how the newest version of an item is sent.
type sent struct {
	version int
	thing   thing
	stamp   string
}

func (i *item) changed() time.Time { return i.history[len(i.history)-1] }

// versionAt returns the version an item had at a time; 0 if it was not there.
func (i *item) versionAt(t time.Time) int {
	n := 0
	for n < len(i.history) && !i.history[n].After(t) {
		n++
	}
	return n
}

func newWorld(p plan, now time.Time) *world {
	w := &world{plan: p, random: rand.New(rand.NewPCG(p.seed, 0x3041d)), fates: rand.New(rand.NewPCG(p.seed, 0xfa7e)),
		byID: map[string]*item{}, tokens: map[string]map[string]at{}}
	for range p.items {
		w.create(w.tick(now))
	}
	return w
}

// tick returns the time of the next change, later than all before it; every
// third time it is the same as that of the change before, for items that are
// changed together.
func (w *world) tick(now time.Time) time.Time {
	now = now.UTC().Truncate(time.Millisecond)
	if !now.After(w.last) {
		now = w.last.Add(time.Millisecond)
	}
	w.last = now
	return now
}

func (w *world) create(t time.Time) {
	i := &item{number: len(w.items), history: []time.Time{t}}
	i.id = fmt.Sprintf("i%03d", i.number)
	if w.plan.keyless && w.random.IntN(6) == 0 && i.number > 0 { // a first page without any key is a wrong key
		i.id = ""
	}
	i.gone = w.plan.gone && w.random.IntN(4) == 0
	i.drift = w.plan.drift && w.random.IntN(4) == 0
	for range w.random.IntN(5) {
		i.notes = append(i.notes, t)
	}
	w.items = append(w.items, i)
	w.byID[i.id], w.order = i, nil
}

// change makes a few changes at one moment: all of them are there from the
// next request on.
func (w *world) change(now time.Time) {
	t := w.tick(now)
	for range 1 + w.random.IntN(4) {
		i := w.items[w.random.IntN(len(w.items))]
		switch what := w.random.IntN(3); {
		case what == 0 && len(w.items) < 2*w.plan.items+4 && !w.shortened():
			w.create(t)
		case what == 1 && i.changed() != t && !i.deleted():
			i.history = append(i.history, t)
			w.order = nil
		case what == 2:
			i.notes = append(i.notes, t)
		}
	}
	w.turn(t)
}

// mend updates what drifted and was not updated since.
func (w *world) mend(now time.Time) {
	t := w.tick(now)
	for _, i := range w.items {
		if i.drift && len(i.history) == 1 {
			i.history = append(i.history, t)
			w.order = nil
		}
	}
}

// A thing is a record as it is sent.
type thing struct {
	key     string
	version int
	data    json.RawMessage
}

// newest returns how the newest version of an item is sent.
func (i *item) newest() sent {
	if n := len(i.history); i.sent.version != n {
		i.sent = sent{n, i.thing(), stamp(i.changed())}
	}
	return i.sent
}

func (i *item) thing() thing {
	version := len(i.history)
	if i.id == "" {
		return thing{"", version, fmt.Appendf(nil, `{"number":%d,"v":%d,"updated_at":%q}`, i.number, version, stamp(i.changed()))}
	}
	if i.drift && version == 1 {
		return thing{i.id, version, fmt.Appendf(nil, `{"id":%q,"v":1}`, i.id)}
	}
	return thing{i.id, version, fmt.Appendf(nil, `{"id":%q,"v":%d,"updated_at":%q}`, i.id, version, stamp(i.changed()))}
}

func (i *item) note(n int) thing {
	id := fmt.Sprintf("%s/%d", i.id, n)
	return thing{id, 1, fmt.Appendf(nil, `{"id":%q,"v":1}`, id)}
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }

// answer returns the body for a path and query, and the token of the next page
// in it; ok is false if the token in the query is none that was sent, byte for
// byte.
func (w *world) answer(path string, q url.Values) (body []byte, next string, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) == 1:
		return w.list(path, q)
	case len(parts) == 2:
		return w.byID[parts[1]].newest().thing.data, "", true
	default:
		return w.listNotes(path, w.byID[parts[1]], q)
	}
}

// list answers a page of items.
func (w *world) list(path string, q url.Values) (body []byte, next string, ok bool) {
	size := w.plan.pageSize
	if w.plan.kind.counts() {
		begin := 0
		if w.plan.kind == byNumber {
			n, _ := strconv.Atoi(q.Get("page"))
			begin = (n - 1) * size
		} else {
			begin, _ = strconv.Atoi(q.Get("offset"))
		}
		listed := w.items[:w.length()]
		begin = min(max(0, begin), len(listed))
		return w.page(path, listed[begin:min(begin+size, len(listed))], ""), "", true
	}
	start, ok := w.position(path, q.Get("cursor"))
	if !ok {
		return nil, "", false
	}
	listed := w.behind(start, q.Get("since"), size+1)
	if len(listed) > size {
		listed = listed[:size]
		next = w.token(path, w.place(listed[size-1]))
	}
	return w.page(path, listed, next), next, true
}

// behind returns up to n items behind a position that changed since a mark, in
// the order of the list.
func (w *world) behind(start at, since string, n int) (listed []*item) {
	if w.order == nil {
		w.order = slices.Clone(w.items)
		slices.SortFunc(w.order, func(a, b *item) int { return w.compare(w.place(a), w.place(b)) })
	}
	begin, _ := slices.BinarySearchFunc(w.order, start, func(i *item, at at) int {
		return cmp.Or(w.compare(w.place(i), at), -1) // behind it, not at it
	})
	for _, i := range w.order[begin:] {
		if len(listed) == n {
			break
		}
		if i.deleted() {
			continue
		}
		if !w.plan.kind.sinceMark() || since == "" || i.newest().stamp > since || w.plan.kind == from && i.newest().stamp == since {
			listed = append(listed, i)
		}
	}
	return listed
}

// place returns the position of an item in the list.
func (w *world) place(i *item) at {
	if w.plan.kind == after || w.plan.kind == from {
		return at{i.changed(), i.number}
	}
	return at{number: i.number}
}

func (w *world) compare(a, b at) int {
	return cmp.Or(a.changed.Compare(b.changed), cmp.Compare(a.number, b.number))
}

// page writes a page. Where order means nothing, the records of a page come in
// any; by offset, a list without an order would not be one.
func (w *world) page(path string, items []*item, next string) []byte {
	data := make([]json.RawMessage, 0, len(items))
	for _, i := range items {
		data = append(data, i.newest().thing.data)
	}
	if w.plan.kind != after && w.plan.kind != from && w.plan.kind != byOffset {
		w.random.Shuffle(len(data), func(i, j int) { data[i], data[j] = data[j], data[i] })
	}
	return envelope(data, next)
}

func envelope(data []json.RawMessage, next string) []byte {
	body := []byte(`{"data":[`)
	for i, d := range data {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, d...)
	}
	return append(append(append(body, `],"next":`...), quoted(next)...), '}')
}

func (w *world) listNotes(path string, i *item, q url.Values) (body []byte, next string, ok bool) {
	start, ok := w.position(path, q.Get("cursor"))
	if !ok {
		return nil, "", false
	}
	begin := start.number + 1
	end := min(begin+2, len(i.notes))
	var data []json.RawMessage
	for n := begin; n < end; n++ {
		data = append(data, i.note(n).data)
	}
	if end < len(i.notes) {
		next = w.token(path, at{number: end - 1})
	}
	return envelope(data, next), next, true
}

// token returns the token of a position: bytes that mean nothing, and that
// break if anything decodes or cleans them.
func (w *world) token(path string, p at) string {
	sum := w.plan.chance(p.number, path, stamp(p.changed))
	token := fmt.Sprintf("%x+/ %%2B&é=%d==", uint64(sum*(1<<53)), p.number)
	if w.tokens[path] == nil {
		w.tokens[path] = map[string]at{}
	}
	w.tokens[path][token] = p
	return token
}

// position returns what a token of a path stands for.
func (w *world) position(path, token string) (at, bool) {
	if token == "" {
		return at{number: -1}, true
	}
	p, ok := w.tokens[path][token]
	return p, ok
}
