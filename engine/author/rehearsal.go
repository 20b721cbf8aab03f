package author

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/cassette"
	"collect/connectors/declarative"
	"collect/engine/storage"
	"collect/runner"
	"collect/store"
)

// A Rehearsal plays a tape to the runner, with a store in a folder of its own: first
// as it was recorded, and then once with each fault. In the end there have to be
// the same records as without it, whatever happened, and on the way nothing may be
// missing that is not owed.
type Rehearsal struct {
	Plain  Played
	Faults []Played // none if it went wrong without one

	Records  map[string]int // by stream, as played without a fault
	Missing  []string       // requests that the tape has no answer to, without secrets
	Requests int
}

// Failed reports whether a play came out otherwise than it has to.
func (r *Rehearsal) Failed() bool {
	return r.Plain.Wrong != "" || slices.ContainsFunc(r.Faults, func(p Played) bool { return p.Wrong != "" })
}

// A Played is one fault, and what came of it.
type Played struct {
	Name    string `json:"fault"`
	Places  int    `json:"places"` // where it was tried, a stream each; 0: nowhere, the tape has no place for it
	Records int    `json:"records"`
	Owed    int    `json:"owed"`  // gaps that the run with the fault left
	Wrong   string `json:"wrong"` // "": it came out as it has to
}

// A fault is a way in which an exchange goes wrong.
type fault struct {
	name   string
	always bool // for the whole run, and not once
	second bool // it needs a page before it, of a list
	answer func(s *stage, req *http.Request) (*http.Response, error)
	commit bool // the process dies when the page was saved, and was not told so
}

var errKilled = errors.New("the process was killed")

// faults are those that are played, in the order in which they are shown.
var faults = []fault{
	{name: "429 with Retry-After", answer: func(s *stage, req *http.Request) (*http.Response, error) {
		return answerWith(req, http.StatusTooManyRequests, http.Header{"Retry-After": {"0"}}, "slow down"), nil
	}},
	{name: "500, once", answer: func(s *stage, req *http.Request) (*http.Response, error) {
		return answerWith(req, http.StatusInternalServerError, http.Header{}, "oops"), nil
	}},
	{name: "500, for a whole run", always: true, answer: func(s *stage, req *http.Request) (*http.Response, error) {
		return answerWith(req, http.StatusInternalServerError, http.Header{}, "oops"), nil
	}},
	{name: "an answer that is cut off", answer: func(s *stage, req *http.Request) (*http.Response, error) {
		resp, err := s.play(req)
		if err == nil {
			resp.Body = io.NopCloser(io.LimitReader(resp.Body, resp.ContentLength/2))
		}
		return resp, err
	}},
	{name: "a page that is cut off, as if whole", answer: func(s *stage, req *http.Request) (*http.Response, error) {
		resp, err := s.play(req)
		if err == nil {
			body, _ := io.ReadAll(resp.Body)
			body = body[:len(body)/2]
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		return resp, err
	}},
	{name: "the page before, again", second: true, answer: func(s *stage, req *http.Request) (*http.Response, error) {
		return s.last(req), nil
	}},
	{name: "killed before an answer", answer: func(s *stage, _ *http.Request) (*http.Response, error) {
		s.kill()
		return nil, errKilled
	}},
	{name: "killed before a page is saved", answer: func(s *stage, req *http.Request) (*http.Response, error) {
		s.kill()
		return s.play(req)
	}},
	{name: "killed as a page is saved", commit: true, answer: func(s *stage, req *http.Request) (*http.Response, error) {
		s.mu.Lock()
		s.killNext = true
		s.mu.Unlock()
		return s.play(req)
	}},
}

func answerWith(req *http.Request, status int, header http.Header, body string) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// Rehearse plays a tape, with each fault if disturb is set. Dir is a folder for
// stores.
func Rehearse(ctx context.Context, spec *declarative.Spec, tape *Tape, dir string, disturb bool) (*Rehearsal, error) {
	r := &rehearser{spec: spec, tape: tape, dir: dir}
	plain, err := r.play(ctx, nil, "")
	if err != nil {
		return nil, err
	}
	r.plain = plain.records
	result := &Rehearsal{Records: map[string]int{}, Missing: plain.missing, Requests: len(plain.asked), Plain: Played{Name: "as it was recorded", Places: len(plain.streams), Records: plain.all()}}
	for _, stream := range plain.streams {
		n := len(plain.records[stream])
		result.Records[stream] = n
		if result.Plain.Wrong != "" {
			continue
		}
		if want, told := tape.Records[stream]; told && n != want {
			result.Plain.Wrong = fmt.Sprintf("%s has %d records, and the tape says %d", stream, n, want)
		} else if n == 0 {
			result.Plain.Wrong = fmt.Sprintf("%s has no records; record it again, or the file does not find them", stream)
		}
	}
	if !disturb || result.Plain.Wrong != "" {
		return result, nil
	}
	for _, f := range faults {
		played := Played{Name: f.name, Records: plain.all()}
		for _, stream := range plain.streams {
			at := plain.target(stream, f)
			if at == "" {
				continue
			}
			played.Places++
			got, err := r.play(ctx, &f, at)
			if err != nil {
				return nil, err
			}
			played.Owed += got.owed
			if played.Wrong == "" {
				played.Wrong = got.wrong(plain)
			}
		}
		result.Faults = append(result.Faults, played)
	}
	return result, nil
}

// A rehearser plays a tape again and again.
type rehearser struct {
	spec  *declarative.Spec
	tape  *Tape
	dir   string
	plays int
	plain map[string]map[string]string // the records as played without a fault
}

// An outcome is what there is after a play.
type outcome struct {
	streams []string
	asked   []asked // of the first run, in order
	missing []string
	records map[string]map[string]string // by stream and key
	lost    map[string][]string          // after the first run: keys of which something should be known and is not
	owed    int                          // gaps after the first run
	left    []string                     // gaps in the end, those of the tape's own end not among them
}

// asked is a request that was made.
type asked struct {
	at   collection.Place
	name string // tells it from others
}

func (o *outcome) all() (n int) {
	for _, records := range o.records {
		n += len(records)
	}
	return n
}

// target returns the request of a stream that a fault is tried at: its second
// page, where there is one.
func (o *outcome) target(stream string, f fault) (name string) {
	var before asked
	for _, a := range o.asked {
		if a.at.Stream != stream {
			continue
		}
		if name == "" && !f.second {
			name = a.name
		}
		if before.name != "" && before.at == a.at && before.name != a.name {
			return a.name
		}
		before = a
	}
	return name
}

// wrong says in what an outcome differs from what it has to be; "" for nothing.
func (o *outcome) wrong(plain *outcome) string {
	for _, stream := range plain.streams {
		for key, data := range plain.records[stream] {
			got, there := o.records[stream][key]
			switch {
			case !there:
				return fmt.Sprintf("%s lacks the record %s in the end", stream, key)
			case got != data:
				return fmt.Sprintf("the record %s of %s is another one in the end", key, stream)
			}
		}
		if more := len(o.records[stream]) - len(plain.records[stream]); more > 0 {
			return fmt.Sprintf("%s has %d records in the end that were not recorded", stream, more)
		}
		if keys := o.lost[stream]; len(keys) > 0 {
			return fmt.Sprintf("after the run, %s lacked %d records, such as %s, and nothing was owed", stream, len(keys), keys[0])
		}
	}
	if len(o.left) > 0 {
		return "in the end there is still a gap: " + o.left[0]
	}
	return ""
}

// mostRuns bounds the runs of one play: the one with the fault, one that goes on,
// one that tries what is owed, and one more for what that led to.
const mostRuns = 4

// play collects the tape into a store of its own, with a fault at the request
// called target in the first run.
func (r *rehearser) play(ctx context.Context, f *fault, target string) (*outcome, error) {
	r.plays++
	path := filepath.Join(r.dir, fmt.Sprintf("rehearsal-%d.db", r.plays))
	defer func() {
		for _, ending := range []string{"", "-wal", "-shm", ".lock"} {
			_ = os.Remove(path + ending)
		}
	}()
	o := &outcome{}
	for run := range mostRuns {
		s := &stage{player: cassette.NewPlayer(r.tape.Exchanges), lasts: map[collection.Place]*http.Response{}}
		if run == 0 {
			s.fault, s.target = f, target
		}
		if err := r.run(ctx, path, run, s, o); err != nil {
			return nil, err
		}
		if run == 0 {
			o.asked, o.missing = s.asked, s.missing
		}
		if f == nil {
			break
		}
	}
	return o, nil
}

// run does one run of a play, and looks at what is there then.
func (r *rehearser) run(ctx context.Context, path string, number int, s *stage, o *outcome) error {
	secrets := map[string]declarative.SecretValue{}
	var values []string
	for _, secret := range r.spec.Secrets() {
		value := "rehearsal-secret-" + secret.Name
		secrets[secret.Name] = declarative.SecretValue{Value: value, From: "the rehearsal", Replace: func(_ context.Context, spend func(string) (string, error)) error {
			_, err := spend(value)
			return err
		}}
		values = append(values, value)
	}
	built, err := r.spec.Build(declarative.Options{Params: r.tape.Params, Secrets: secrets, Provider: declarative.Overrides{Unpaced: true}})
	if err != nil {
		return err
	}
	c, err := played(built, r.tape.Parents)
	if err != nil {
		return err
	}
	s.scrubber = func() *cassette.Scrubber { return scrubberOf(c.Provider(), values, 0) }

	db, _, err := storage.OpenForRun(ctx, path, storage.CreateInFolder)
	if err != nil {
		return err
	}
	defer db.Close()
	run := collection.Run{ID: fmt.Sprintf("REHEARSAL%07d", number), Connector: r.spec.Name(), Mode: collection.Forward, Lane: collection.Incremental, StartedAt: time.Now()}
	ledger, err := db.Begin(ctx, run, c.Streams())
	if err != nil {
		return err
	}
	on := &mortal{Ledger: ledger, s: s, later: time.Duration(number) * 30 * 24 * time.Hour}
	work, err := runner.New(runner.Config{Connector: c, Ledger: on, Run: run, Concurrency: 1, Domain: "rehearsal", Base: s, Once: true, Random: func() float64 { return 0 }})
	if err != nil {
		return err
	}
	done, err := work.Do(ctx)
	if killed := s.dead(); !killed {
		if err != nil {
			return err
		}
		if err := ledger.Finish(ctx, done); err != nil {
			return err
		}
	}
	return r.look(ctx, db, number, s, o)
}

// look notes what a store has.
func (r *rehearser) look(ctx context.Context, db store.Store, number int, s *stage, o *outcome) error {
	o.records, o.left = map[string]map[string]string{}, nil
	owing := map[string]bool{} // streams
	gaps, err := db.Gaps(ctx, r.spec.Name())
	if err != nil {
		return err
	}
	for _, gap := range gaps {
		owing[gap.Stream] = true
		if !strings.Contains(gap.Detail, notRecorded) {
			o.left = append(o.left, fmt.Sprintf("%s, %s: %s", gap.Stream, gap.Reason, gap.Detail))
		}
	}
	if number == 0 {
		o.owed = len(o.left)
	}
	states, err := db.Streams(ctx, r.spec.Name())
	if err != nil {
		return err
	}
	o.streams = r.spec.StreamNames()
	for _, st := range states {
		for _, lane := range st.Lanes {
			if !lane.Complete {
				owing[st.Name] = true
			}
		}
		if len(st.Lanes) == 0 || owing[st.Parent] {
			owing[st.Name] = true
		}
		records := map[string]string{}
		for record, err := range db.Records(ctx, r.spec.Name(), st.Name) {
			if err != nil {
				return err
			}
			records[record.Key] = string(record.Data)
		}
		o.records[st.Name] = records
	}
	if number == 0 && s.fault != nil {
		o.lost = map[string][]string{}
		for stream, keys := range r.plain {
			for key := range keys {
				if _, there := o.records[stream][key]; !there && !owing[stream] {
					o.lost[stream] = append(o.lost[stream], key)
				}
			}
		}
	}
	return nil
}

// notRecorded is in the detail of a gap for a request that the tape does not have.
const notRecorded = "this request is not in the cassette"

// A stage answers the requests of a run by a tape, and plays the fault.
type stage struct {
	player   *cassette.Player
	scrubber func() *cassette.Scrubber
	fault    *fault
	target   string

	mu       sync.Mutex
	struck   bool
	killed   bool
	killNext bool // at the next commit
	asked    []asked
	missing  []string
	lasts    map[collection.Place]*http.Response // the newest answer of each place, to be read again
}

// RoundTrip implements http.RoundTripper.
func (s *stage) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.dead() {
		return nil, errKilled
	}
	scrubber, at := s.scrubber(), collection.PlaceOf(req.Context())
	plain, err := http.NewRequestWithContext(req.Context(), req.Method, scrubber.Text(req.URL.String()), nil) // #nosec G704 -- it is answered from a recording
	if err != nil {
		return nil, err
	}
	sent := ""
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		sent = string(scrubber.Bytes(body))
		plain.Body = io.NopCloser(strings.NewReader(sent))
	}
	name := plain.Method + " " + plain.URL.String() + " " + sent
	s.mu.Lock()
	s.asked = append(s.asked, asked{at, name})
	strike := s.fault != nil && name == s.target && (!s.struck || s.fault.always)
	s.struck = s.struck || strike
	s.mu.Unlock()
	answer := func() (*http.Response, error) { return s.play(plain) }
	if strike {
		answer = func() (*http.Response, error) { return s.fault.answer(s, plain) }
	}
	resp, err := answer()
	if _, unrecorded := errors.AsType[*cassette.UnrecordedError](err); unrecorded {
		s.mu.Lock()
		defer s.mu.Unlock()
		if what := plain.Method + " " + plain.URL.String(); !slices.Contains(s.missing, what) {
			s.missing = append(s.missing, what)
		}
		return nil, &collection.Stop{Reason: collection.BadPage, Detail: notRecorded, Err: err}
	}
	if err != nil {
		return nil, err
	}
	resp.Request = req
	return s.note(at, resp), nil
}

// play answers a request by the tape. A tape that was written by hand may leave out
// what a credential adds to an exchange: the key in a query, and the request for an
// access token.
func (s *stage) play(req *http.Request) (*http.Response, error) {
	var sent string
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		sent, req.Body = string(body), io.NopCloser(bytes.NewReader(body))
	}
	resp, err := s.player.RoundTrip(req)
	if _, unrecorded := errors.AsType[*cassette.UnrecordedError](err); !unrecorded {
		return resp, err
	}
	if strings.Contains(sent, "grant_type=") {
		return answerWith(req, http.StatusOK, http.Header{"Content-Type": {"application/json"}}, `{"access_token": "rehearsal-access", "token_type": "bearer", "expires_in": 3600}`), nil
	}
	query := req.URL.Query()
	maps.DeleteFunc(query, func(_ string, values []string) bool { return slices.Contains(values, cassette.Redacted) })
	again := req.Clone(req.Context())
	again.URL.RawQuery = query.Encode()
	again.Body = io.NopCloser(strings.NewReader(sent))
	if resp, err := s.player.RoundTrip(again); err == nil {
		return resp, nil
	}
	return nil, err
}

// note keeps a copy of the newest answer of a place.
func (s *stage) note(at collection.Place, resp *http.Response) *http.Response {
	body, err := io.ReadAll(resp.Body)
	if err != nil || int64(len(body)) != resp.ContentLength {
		resp.Body = io.NopCloser(bytes.NewReader(body)) // one that is cut off
		return resp
	}
	kept := *resp
	kept.Header, kept.Body = resp.Header.Clone(), io.NopCloser(bytes.NewReader(body))
	resp.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lasts[at] = &kept
	return resp
}

// last returns the answer before of the place that asks.
func (s *stage) last(req *http.Request) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.lasts[collection.PlaceOf(req.Context())]
	if kept == nil {
		return answerWith(req, http.StatusInternalServerError, http.Header{}, "")
	}
	return kept
}

func (s *stage) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = true
}

func (s *stage) dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed
}

// A mortal is a ledger that a killed process reaches no more. Its gaps see a later
// time, so that what has to wait is not waited for.
type mortal struct {
	store.Ledger
	s     *stage
	later time.Duration
}

func (m *mortal) Commit(ctx context.Context, group ...collection.Slice) ([]collection.Committed, error) {
	if m.s.dead() {
		return nil, errKilled
	}
	done, err := m.Ledger.Commit(ctx, group...)
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if m.s.killNext {
		m.s.killed = true
		return nil, errKilled
	}
	return done, err
}

func (m *mortal) Defer(ctx context.Context, worked bool, gaps ...collection.Gap) ([]collection.Gap, error) {
	if m.s.dead() {
		return nil, errKilled
	}
	return m.Ledger.Defer(ctx, worked, gaps...)
}

func (m *mortal) SaveProvider(ctx context.Context, domain string, state []byte, events ...collection.Event) error {
	if m.s.dead() {
		return errKilled
	}
	return m.Ledger.SaveProvider(ctx, domain, state, events...)
}

func (m *mortal) Beat(ctx context.Context, now time.Time, tally collection.Tally, metrics collection.Metrics) error {
	if m.s.dead() {
		return errKilled
	}
	return m.Ledger.Beat(ctx, now, tally, metrics)
}

func (m *mortal) Lease(ctx context.Context, lane collection.Lane, streams []string, now time.Time, n int) ([]collection.Gap, error) {
	if m.s.dead() {
		return nil, errKilled
	}
	return m.Ledger.Lease(ctx, lane, streams, now.Add(m.later), n)
}

// whole is what a connector of a file can do.
type whole interface {
	connectors.Connector
	connectors.Restarter
	connectors.Aheader
	connectors.Prober
}

// unpaced is a connector without anything to wait for, which wants the parents of
// a tape alone.
type unpaced struct {
	whole
	parents map[string][]collection.Partition
}

func played(c connectors.Connector, parents map[string][]collection.Partition) (connectors.Connector, error) {
	w, ok := c.(whole)
	if !ok {
		return nil, errors.New("this kind of connector cannot be rehearsed")
	}
	return unpaced{w, parents}, nil
}

func (u unpaced) Provider() collection.Provider {
	p := u.whole.Provider()
	p.Ceilings, p.Reserve, p.Clamp = nil, 0, collection.Clamp{Off: true}
	return p
}

func (u unpaced) Partition(stream string, parent collection.Parent) (collection.Partition, string, bool, error) {
	p, version, wanted, err := u.whole.Partition(stream, parent)
	if of := u.parents[stream]; wanted && len(of) > 0 && !slices.Contains(of, p) {
		return p, version, false, nil
	}
	return p, version, wanted, err
}
