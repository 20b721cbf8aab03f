package cmd

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"collect/collection"
	"collect/engine/storage"
	"collect/internal/provider"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// demoConnector is the connector file of the demo, with the URL of its
// provider left out. It is written where the user can read it with --keep.
const demoConnector = `# The provider of "collect demo": a list of tickets, and a detail of each.
connector: demo
provider:
  base_url: %s
  ceiling: {per_second: 400}   # the most we allow; what the provider allows is learned
  start_per_second: 150
streams:
  tickets:
    get: /cursor/tickets
    records: items
    key: id
    page: {cursor: {from: next_cursor, param: cursor}}
  details:
    each: {id: tickets.id}
    get: /tickets/${id}
    key: id
    role: detail
`

// demoCap is where the demo stops on purpose: in the middle of the details.
const demoCap = 900

// demoWorkers is how many requests the demo has in flight at once, so that the
// provider's slowness does not look like the pace.
const demoWorkers = 4

type demoOptions struct {
	keep string
	seed uint64
}

func (a *app) demoCommand() *cobra.Command {
	var o demoOptions
	c := &cobra.Command{
		Use:         "demo",
		Annotations: map[string]string{ownSignals: ""},
		Short:       "See it work against a provider of its own, in half a minute",
		Long: `Demo starts a provider on loopback that has 2,000 tickets with a detail each
and throttles in four ways: 429 with Retry-After, bare 429, 503, and slowness.
It collects, stops once on purpose, shows what is owed, resumes, and compares
what it stored with what the provider served, record by record.

Nothing leaves this machine, and nothing is left behind without --keep.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), o) },
	}
	c.Flags().StringVar(&o.keep, "keep", "", "keep the connector file and the database in this `directory`")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "serve the records of this `number` (default: any)")
	return c
}

func (a *app) demo(ctx context.Context, o demoOptions) error {
	started := time.Now()
	if o.seed == 0 {
		var chance [8]byte
		rand.Read(chance[:])
		o.seed = binary.LittleEndian.Uint64(chance[:])
	}
	dir, clean, err := demoDir(o.keep)
	if err != nil {
		return err
	}
	defer clean()
	p := provider.Demo(o.seed)
	address, err := p.Start()
	if err != nil {
		return err
	}
	defer p.Close()
	file := filepath.Join(dir, "demo.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, demoConnector, address), 0o600); err != nil {
		return err
	}
	// The demo answers to nothing but its own flags: no configuration, no
	// database of the user's, and no pace that others share.
	outside := a.env
	a.env = func(name string) string {
		if name == "XDG_STATE_HOME" {
			return dir
		}
		return outside(name)
	}
	a.flags.config, a.flags.state = os.DevNull, filepath.Join(dir, "state.db")

	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	a.tell("A provider on %s has 2,000 tickets with a detail each. It does not\n"+
		"say how fast it may be asked. It throttles in four ways: 429 with Retry-After,\n"+
		"bare 429, 503, and slowness.\n\n"+
		"1. Collect, and stop on purpose after %d requests\n\n$ collect run demo.yaml --max-requests %d\n", u.Host, demoCap, demoCap)
	run := runOptions{
		names: []string{file}, lane: string(collection.Incremental), concurrency: demoWorkers,
		maxRequests: demoCap, create: true, mode: collection.Forward, unheard: true,
	}
	if err := a.collect(ctx, run); err != nil {
		return a.demoEnds(o, err)
	}
	a.tell("\n2. What is owed\n\n$ collect gaps demo\n")
	if err := a.demoGaps(ctx); err != nil {
		return err
	}
	a.tell("\n3. Go on: gaps first, then the rest\n\n$ collect resume demo.yaml\n")
	run.maxRequests, run.create, run.mode = 0, false, collection.Resume
	if err := a.collect(ctx, run); err != nil {
		return a.demoEnds(o, err)
	}
	a.tell("\n4. Compare with what the provider served, record by record\n")
	if err := a.demoCompare(ctx, p); err != nil {
		return err
	}
	a.tell("\nThe demo took %s. Everything ran on this machine%s.\n", words.Span(time.Since(started)), demoLeft(o.keep))
	return nil
}

// demoDir returns the directory of the demo, and what cleans it up.
func demoDir(keep string) (dir string, clean func(), err error) {
	if keep != "" {
		if entries, _ := os.ReadDir(keep); len(entries) > 0 {
			return "", nil, problem.Usage("--keep: %s is not empty", keep)
		}
		return keep, func() {}, os.MkdirAll(keep, 0o700)
	}
	dir, err = os.MkdirTemp("", "collect-demo-")
	return dir, func() { os.RemoveAll(dir) }, err
}

// demoEnds says what is left of a demo that did not come to its end.
func (a *app) demoEnds(o demoOptions, err error) error {
	a.tell("\nThe demo ends here, and its provider with it%s.\n", demoLeft(o.keep))
	return err
}

// demoLeft says what is left of the demo.
func demoLeft(keep string) string {
	if keep == "" {
		return ", and all of it has been removed"
	}
	return fmt.Sprintf(";\nthe connector and the database are in %s. Look: sqlite3 %s 'select * from demo_details limit 3'",
		keep, filepath.Join(keep, "state.db"))
}

func (a *app) tell(format string, args ...any) { fmt.Fprintf(a.err, format, args...) }

// demoGaps shows the gaps, as the command for it does.
func (a *app) demoGaps(ctx context.Context) error {
	return a.look(ctx, []string{"demo"}, func(v looked) error {
		gaps, err := v.gaps(ctx)
		v.flags = "" // its database does not stay
		if err == nil {
			a.tell("%s", gapsTable(v, gaps, gapsShown, a.width(), a.caps()))
		}
		return err
	})
}

// demoCompare compares the store with the provider, byte for byte.
func (a *app) demoCompare(ctx context.Context, p *provider.Server) error {
	db, err := storage.Look(ctx, a.flags.state)
	if err != nil {
		return err
	}
	defer db.Close()
	var wrong []string
	for _, stream := range []string{"tickets", "details"} {
		same, missing, strange, err := compare(ctx, db, stream, p.Records(stream))
		if err != nil {
			return err
		}
		a.tell("  %-8s  %s the same, %d missing, %d that were not served\n", stream, words.Count(same), missing, strange)
		if missing+strange > 0 {
			wrong = append(wrong, stream)
		}
	}
	stats := p.Stats()
	a.tell("  The provider refused %d of %s requests; %d came while it had asked to wait.\n",
		stats.ByStatus[http.StatusTooManyRequests]+stats.ByStatus[http.StatusServiceUnavailable], words.Count(int64(stats.Requests)), stats.Early)
	if len(wrong) > 0 {
		return fmt.Errorf("the store differs from the provider in %s: this is a bug", strings.Join(wrong, " and "))
	}
	return nil
}

// compare counts the stored records that were served, those that were served
// and are not stored, and those that are stored and were never served.
func compare(ctx context.Context, db store.Reader, stream string, served [][]byte) (same int64, missing, strange int, err error) {
	left := map[string]int{}
	for _, record := range served {
		left[string(record)]++
	}
	for stored, err := range db.Records(ctx, "demo", stream) {
		if err != nil {
			return 0, 0, 0, err
		}
		record := string(bytes.TrimSpace(stored.Data))
		if left[record] == 0 {
			strange++
			continue
		}
		left[record]--
		same++
	}
	for _, n := range left {
		missing += n
	}
	return same, missing, strange, nil
}
