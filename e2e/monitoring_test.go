package e2e_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite"

	"collect/e2e/services"
)

// The times of the alerts are tested as they are shipped, by promtool.
func TestAlertTimes(t *testing.T) {
	c := exec.Command("promtool", "test", "rules", "testdata/alerts_test.yaml")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// shortened are the times of the alerts for a test that has only seconds.
var shortened = strings.NewReplacer(
	"[1h]", "[8s]", "[5m]", "[4s]", "[6h]", "[8s]", "[30m]", "[4s]",
	"26 * 3600", "8", "24 * 3600", "3",
	"for: 30m", "for: 1s", "for: 15m", "for: 1s", "for: 5m", "for: 1s", "for: 1m", "for: 1s", "for: 1h", "for: 1s",
)

// A monitored is collect serve with a Prometheus that scrapes it.
type monitored struct {
	user
	port       string
	serve      *exec.Cmd
	prometheus string // its address
	dir        string // of the store
}

// A desk of pages that answers as it is told: 200, or another status for each item.
type mood struct {
	*httptest.Server
	status atomic.Int64
	items  atomic.Int64
}

func newMood(t *testing.T) *mood {
	t.Helper()
	m := &mood{}
	m.status.Store(http.StatusOK)
	m.items.Store(20)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.TrimPrefix(r.URL.Path, "/items/")
		status := int(m.status.Load())
		switch {
		case id != r.URL.Path && status != http.StatusOK:
			http.Error(w, http.StatusText(status), status)
		case id != r.URL.Path:
			fmt.Fprintf(w, `{"id":%s}`, id)
		default:
			var list []string
			for i := range m.items.Load() {
				list = append(list, fmt.Sprintf(`{"id":%d}`, i+1))
			}
			fmt.Fprintf(w, "[%s]", strings.Join(list, ","))
		}
	}))
	t.Cleanup(m.Close)
	return m
}

// TestMonitoring: each alert fires and clears, in a real Prometheus that scrapes a real
// collect serve, for what really happens to a connector; and every query of the board
// has an answer.
func TestMonitoring(t *testing.T) {
	provider := newMood(t)
	m := monitor(t, provider.URL)
	run := func(args ...string) {
		t.Helper()
		r := finish(t, m.command("run", args...))
		t.Logf("run %v: exit code %d", args, r.code)
		if r.code == 2 || r.code == 78 {
			t.Fatalf("%s", r.stderr)
		}
	}
	run("--create", "--max-requests=10")
	m.start(t)

	m.fires(t, "CollectGapOld")
	m.fires(t, "CollectConnectorStale")
	m.fires(t, "CollectCheckpointOld")
	run()
	m.clears(t, "CollectGapOld", "CollectConnectorStale")

	// What fails is tried again, until the breaker opens.
	provider.items.Store(60)
	provider.status.Store(http.StatusInternalServerError)
	run("--max-time=20s")
	m.fires(t, "CollectBreakerOpen")
	m.order(t, "breaker", "close", "--reason=a test")
	run()
	m.fires(t, "CollectFastBurn")
	m.fires(t, "CollectSlowBurn")
	provider.status.Store(http.StatusOK)
	provider.items.Store(260) // a run that is long enough to be scraped
	run()
	m.order(t, "breaker", "release", "--reason=a test")
	m.clears(t, "CollectBreakerOpen", "CollectFastBurn", "CollectSlowBurn", "CollectCheckpointOld")

	m.order(t, "freeze", "on", "--reason=a test")
	m.fires(t, "CollectFrozen")
	m.order(t, "freeze", "release", "--reason=a test")
	run()
	m.clears(t, "CollectFrozen")

	provider.items.Store(261)
	provider.status.Store(http.StatusNotFound)
	run()
	m.fires(t, "CollectStuckGap")
	m.waive(t)
	m.clears(t, "CollectStuckGap")

	m.crowd(t, `INSERT INTO leases (connector, epoch, host, pid, since, beat_at, writes)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001)
		SELECT printf('zz%04d', i), 1, 'h', 1, '', '', 1 FROM n`)
	m.fires(t, "CollectConnectorsOmitted")
	m.crowd(t, `DELETE FROM leases WHERE connector LIKE 'zz%'`)
	m.clears(t, "CollectConnectorsOmitted")

	m.fillDisk(t)
	m.board(t)

	hidden := m.state + ".hidden"
	must(t, os.Rename(m.state, hidden))
	must(t, os.WriteFile(m.state, []byte("this was never a database of collect"), 0o600))
	m.fires(t, "CollectStoreUnreadable")
	must(t, os.Rename(hidden, m.state))
	m.clears(t, "CollectStoreUnreadable")

	m.stopServing(t)
	m.fires(t, "CollectAbsent")
	m.startServing(t)
	m.clears(t, "CollectAbsent")
}

// monitor prepares a user with a connector for a provider.
func monitor(t *testing.T, provider string) *monitored {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.yaml")
	must(t, os.WriteFile(file, fmt.Appendf(nil, `connector: shop
provider: {base_url: %q, ceiling: {per_second: 200, per_minute: 12000}, limits: {attempts: 1}}
streams:
  list: {get: /list, key: id, page: {none: true}}
  items: {each: {id: list.id}, get: "/items/${id}", key: id, role: detail}
`, provider), 0o600))
	config := filepath.Join(dir, "collect.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, fast, "shop"), 0o600))
	return &monitored{
		user: user{file: file, state: filepath.Join(dir, "state.db"), config: []string{"--config", config}, env: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}},
		dir:  dir, port: freePort(t),
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	port, err := services.FreePort()
	must(t, err)
	return strconv.Itoa(port)
}

// start starts collect serve and Prometheus with the alerts, whose times are shortened.
func (m *monitored) start(t *testing.T) {
	t.Helper()
	m.startServing(t)
	t.Cleanup(func() { m.stopServing(t) })
	rules, err := os.ReadFile("../docs/monitoring/alerts.yaml")
	must(t, err)
	low := fmt.Sprintf("collect_disk_free_bytes < %d", m.free(t)-diskMargin)
	text := strings.Replace(shortened.Replace(string(rules)), "collect_disk_free_bytes < 2e9", low, 1)
	if !strings.Contains(text, low) {
		t.Fatal("the alert of the disk has another threshold")
	}
	must(t, os.WriteFile(filepath.Join(m.dir, "alerts.yaml"), []byte(text), 0o600))
	must(t, os.WriteFile(filepath.Join(m.dir, "prometheus.yml"), fmt.Appendf(nil, `global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
rule_files: [alerts.yaml]
scrape_configs: [{job_name: collect, static_configs: [{targets: ["127.0.0.1:%s"]}]}]
`, m.port), 0o600))
	port := freePort(t)
	m.prometheus = "http://127.0.0.1:" + port
	c := exec.Command("prometheus", "--config.file="+filepath.Join(m.dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(m.dir, "tsdb"),
		"--web.listen-address=127.0.0.1:"+port, "--enable-feature=native-histograms,exemplar-storage", "--log.level=error")
	c.Stderr = os.Stderr
	must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	eventually(t, "Prometheus is ready", func() bool { return answers(m.prometheus + "/-/ready") })
}

func (m *monitored) startServing(t *testing.T) {
	t.Helper()
	m.serve = m.bare(slices.Concat([]string{"serve", "--listen", "127.0.0.1:" + m.port, "--state", m.state}, m.config)...)
	must(t, m.serve.Start())
	eventually(t, "the console is ready", func() bool { return answers("http://127.0.0.1:" + m.port + "/healthz") })
}

func (m *monitored) stopServing(t *testing.T) {
	t.Helper()
	if m.serve == nil {
		return
	}
	_ = m.serve.Process.Signal(os.Interrupt)
	_ = m.serve.Wait()
	m.serve = nil
}

func answers(url string) bool {
	resp, err := http.Get(url)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// eventually waits for something that comes by itself.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within 60 s: %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// firing returns the names of the alerts that fire.
func (m *monitored) firing() []string {
	var got struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	resp, err := http.Get(m.prometheus + "/api/v1/alerts")
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if json.NewDecoder(resp.Body).Decode(&got) != nil {
		return nil
	}
	names := map[string]bool{}
	for _, a := range got.Data.Alerts {
		names[a.Labels["alertname"]] = names[a.Labels["alertname"]] || a.State == "firing"
	}
	maps.DeleteFunc(names, func(_ string, fires bool) bool { return !fires })
	return slices.Sorted(maps.Keys(names))
}

func (m *monitored) fires(t *testing.T, alert string) {
	t.Helper()
	eventually(t, alert+" fires", func() bool { return slices.Contains(m.firing(), alert) })
}

func (m *monitored) clears(t *testing.T, alerts ...string) {
	t.Helper()
	for _, alert := range alerts {
		eventually(t, alert+" clears", func() bool { return !slices.Contains(m.firing(), alert) && answers(m.prometheus+"/-/ready") })
	}
}

// order gives an order of an operator.
func (m *monitored) order(t *testing.T, args ...string) {
	t.Helper()
	all := slices.Concat(args[:2], []string{m.file, "--state", m.state, "--yes"}, m.config, args[2:])
	finish(t, m.bare(all...)).wantCode(t, 0)
}

// waive gives up each gap that is owed.
func (m *monitored) waive(t *testing.T) {
	t.Helper()
	r := finish(t, m.command("gaps", "--json"))
	ids := regexp.MustCompile(`"id": *"?(g?_?\d+)"?`).FindAllSubmatch(r.stdout, -1)
	if len(ids) == 0 {
		t.Fatalf("no gap is owed: %s", r.stdout)
	}
	args := []string{"gaps", "waive", m.file}
	for _, id := range ids {
		args = append(args, string(id[1]))
	}
	finish(t, m.bare(slices.Concat(args, []string{"--state", m.state, "--yes", "--reason=a test"}, m.config)...)).wantCode(t, 0)
}

// crowd changes the store as no program of ours does.
func (m *monitored) crowd(t *testing.T, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", m.state)
	must(t, err)
	defer db.Close()
	_, err = db.Exec(statement)
	must(t, err)
}

const diskMargin = 512 << 20

func (m *monitored) free(t *testing.T) int64 {
	t.Helper()
	var st unix.Statfs_t
	must(t, unix.Statfs(m.dir, &st))
	return int64(st.Bavail) * st.Bsize
}

// fillDisk takes the disk more than the alert allows, and gives it back.
func (m *monitored) fillDisk(t *testing.T) {
	t.Helper()
	f, err := os.Create(filepath.Join(m.dir, "large"))
	must(t, err)
	defer f.Close()
	must(t, unix.Fallocate(int(f.Fd()), 0, 0, 4*diskMargin))
	m.fires(t, "CollectDiskLow")
	must(t, os.Remove(f.Name()))
	must(t, f.Close())
	m.clears(t, "CollectDiskLow")
}

// board checks that every query of the board has had an answer.
func (m *monitored) board(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../docs/monitoring/dashboard.json")
	must(t, err)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must(t, json.Unmarshal(text, &board))
	variables := strings.NewReplacer("$connector", ".*", "$__rate_interval", "4s")
	now := time.Now()
	queries := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries++
			var got struct {
				Error string
				Data  struct{ Result []json.RawMessage }
			}
			resp, err := http.PostForm(m.prometheus+"/api/v1/query_range", url.Values{
				"query": {variables.Replace(target.Expr)}, "step": {"1s"},
				"start": {fmt.Sprint(now.Add(-5 * time.Minute).Unix())}, "end": {fmt.Sprint(now.Unix())},
			})
			must(t, err)
			err = json.NewDecoder(resp.Body).Decode(&got)
			resp.Body.Close()
			must(t, err)
			if got.Error != "" || len(got.Data.Result) == 0 {
				t.Errorf("%s: %s: no data %s", panel.Title, target.Expr, got.Error)
			}
		}
	}
	if queries < 20 {
		t.Errorf("the board has %d queries", queries)
	}
}
