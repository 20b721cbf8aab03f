//go:build linux

package chaos_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const bouncerText = `[databases]
postgres = host=%s user=collect
[pgbouncer]
listen_addr =
unix_socket_dir = %s
auth_type = any
pool_mode = %s
ignore_startup_parameters = %s
logfile = %[2]s/log
pidfile = %[2]s/pid
`

// TestPgBouncer: a server behind PgBouncer is refused in a sentence, in each mode, and also where
// PgBouncer leaves out what we ask for at the start of a session; and nothing is made there.
func TestPgBouncer(t *testing.T) {
	f := newPlace(t)
	f.write("collect.yaml", "version: 1\n")
	const all = "search_path,idle_in_transaction_session_timeout,default_transaction_read_only,synchronous_commit,default_transaction_isolation," +
		"enable_seqscan,tcp_keepalives_idle,tcp_keepalives_interval,tcp_keepalives_count,tcp_user_timeout"
	for _, mode := range []string{"transaction", "session"} {
		for _, left := range []string{"extra_float_digits", all} {
			folder, end := f.bouncer(mode, left)
			for _, command := range [][]string{{"worker", "--create"}, {"fleet"}, {"status"}} {
				_, err := f.at("postgres:///postgres?user=collect&port=6432&host="+folder, command...)
				if err == nil || !strings.Contains(err.Error(), "exit status 74") || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), "it is behind PgBouncer, which collect cannot use") {
					t.Errorf("%s, without %.20s…, collect %v: %v", mode, left, command, err)
				}
			}
			end()
		}
	}
	var schemas int
	if err := f.db.QueryRow(`SELECT count(*) FROM pg_namespace WHERE nspname = 'collect'`).Scan(&schemas); err != nil || schemas > 0 {
		t.Errorf("%d schemas were made: %v", schemas, err)
	}
}

// bouncer starts PgBouncer, which must not be root, before the server, and returns the folder of
// its socket.
func (f *fleet) bouncer(mode, left string) (folder string, end func()) {
	f.Helper()
	folder, err := os.MkdirTemp(f.servers[0].Folder(), "b")
	if err != nil {
		f.Fatal(err)
	}
	config := filepath.Join(folder, "config")
	if err := os.WriteFile(config, fmt.Appendf(nil, bouncerText, f.servers[0].Folder(), folder, mode, left), 0o644); err != nil {
		f.Fatal(err)
	}
	if out, err := exec.Command("chown", "-R", "postgres", folder).CombinedOutput(); err != nil {
		f.Fatalf("chown: %v: %s", err, out)
	}
	c := exec.Command("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig", "KILL", "/usr/sbin/pgbouncer", config)
	if err := c.Start(); err != nil {
		f.Fatal(err)
	}
	f.await("PgBouncer", func() bool {
		c, err := net.Dial("unix", filepath.Join(folder, ".s.PGSQL.6432"))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return folder, func() { _ = c.Process.Kill(); _ = c.Wait() }
}

// TestFullDisk: the disk of the server is full. Workers and a run say so, and nothing is lost; when
// there is room again they go on.
func TestFullDisk(t *testing.T) {
	if *times == 0 {
		t.Skip("turns are due again after a minute; see scripts/crash --fleet")
	}
	disk := t.TempDir()
	mount := func(args ...string) {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	mount("mount", "-t", "tmpfs", "-o", "size=200m,mode=0755", "tmpfs", disk)
	t.Cleanup(func() { mount("umount", disk) })
	for at := filepath.Dir(disk); at != "/tmp" && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil { // the server's user is another one
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", disk)
	f := newPlace(t, "max_wal_size=32MB", "min_wal_size=32MB")
	url := f.upstream()
	f.connect(connectors, func(name string) string { return fmt.Sprintf(connectorText, name, url) })
	f.join(1)
	f.collect("enqueue", "--all", "--reason", "a test")
	f.await("commits", func() bool { return f.commits() > 20 })
	ballast := filepath.Join(disk, "ballast")
	full := exec.Command("dd", "if=/dev/zero", "of="+ballast, "bs=4k")
	if out, err := full.CombinedOutput(); !bytes.Contains(out, []byte("No space left")) {
		t.Fatalf("dd: %v: %s", err, out)
	}
	f.await("a worker that says so", func() bool { return strings.Contains(f.workers[0].said.String(), "no space left") })
	// The disk may be too full for more than that a turn is over, or for its exit code.
	status := string(f.collect("status", "--jq", `.[] | select(.last_outcome != "complete") | .next`))
	if !strings.Contains(status, "no space left for the database") && !strings.Contains(status, "exit code 74") || !strings.Contains(status, "; a worker tries again") {
		t.Errorf("collect status on a full disk: %s", status)
	}
	_, err := f.try("run", "ants")
	if err == nil || !strings.Contains(err.Error(), "exit status 74") || !strings.Contains(err.Error(), "error[E0702]: no space left") {
		t.Errorf("collect run on a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	f.judge()
}
