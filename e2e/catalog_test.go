package e2e_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"collect/e2e/services"
)

// A shelf is a server that a connector of the catalogue reads, with more than one
// page in it.
type shelf struct {
	connector string
	start     func(t *testing.T) services.Shelf
	params    []string
	pages     int                                                   // a walk has at least as many
	key       func(stream string, record map[string]any) []any      // what identifies a record
	content   func(stream string, record map[string]any) (text any) // what the storage is compared with
	deletes   bool                                                  // the server tells what was deleted
	long      bool                                                  // it takes minutes to bring: scripts/live runs it
}

var long = flag.Bool("long", false, "also run against the servers that scripts/live brings")

var shelves = []shelf{
	{
		"pocketbase", func(t *testing.T) services.Shelf {
			pb, err := services.StartPocketBase(t.TempDir(), tickets)
			must(t, err)
			must(t, pb.Age())
			return services.PocketShelf{PocketBase: pb}
		},
		[]string{"collection=tickets"}, 20,
		func(_ string, r map[string]any) []any { return []any{r["id"]} },
		func(_ string, r map[string]any) any { return r["title"] },
		false, false,
	},
	{
		"wordpress", func(t *testing.T) services.Shelf {
			w, err := services.StartWordPressShelf(t.TempDir())
			must(t, err)
			return w
		},
		nil, 10,
		func(_ string, r map[string]any) []any { return []any{r["id"]} },
		func(stream string, r map[string]any) any {
			switch stream {
			case "comments":
				return strings.TrimSpace(r["content"].(map[string]any)["rendered"].(string))
			case "categories", "tags":
				return r["name"]
			}
			return r["title"].(map[string]any)["rendered"]
		},
		false, false,
	},
	{
		"registry", func(t *testing.T) services.Shelf {
			r, err := services.StartRegistry(t.TempDir())
			must(t, err)
			return r
		},
		nil, 20,
		func(stream string, r map[string]any) []any {
			if stream == "tags" {
				return []any{r["name"], r["tag"]}
			}
			return []any{r["name"]}
		},
		func(stream string, r map[string]any) any {
			if stream == "tags" {
				return r["tag"]
			}
			return r["name"]
		},
		false, false,
	},
	{
		"couchdb", func(t *testing.T) services.Shelf {
			c, err := services.StartCouchDB("../.cache/npm")
			must(t, err)
			return c
		},
		[]string{"database=desk"}, 3,
		func(_ string, r map[string]any) []any { return []any{r["id"]} },
		func(_ string, r map[string]any) any { return r["doc"].(map[string]any)["title"] },
		true, false,
	},
	{
		"gitea", func(t *testing.T) services.Shelf {
			g, err := services.StartGitea("../.cache/gitea", t.TempDir())
			must(t, err)
			return g
		},
		[]string{"org=acme"}, 8,
		func(_ string, r map[string]any) []any { return []any{r["id"]} },
		func(stream string, r map[string]any) any {
			switch stream {
			case "repos":
				return r["name"]
			case "comments":
				return r["body"]
			}
			return fmt.Sprint(r["title"], " ", r["state"])
		},
		false, true,
	},
	{
		"mediawiki", func(t *testing.T) services.Shelf {
			w, err := services.StartMediaWiki(t.TempDir())
			must(t, err)
			return w
		},
		[]string{"start=2020-01-01", "contact=ann@example.test"}, 7,
		func(stream string, r map[string]any) []any {
			if stream == "revisions" {
				return []any{r["revid"]}
			}
			return []any{r["pageid"]}
		},
		func(stream string, r map[string]any) any {
			switch stream {
			case "pages":
				return r["title"]
			case "revisions":
				return fmt.Sprint(r["title"], base36(r["sha1"].(string)))
			}
			var names []string
			categories, _ := r["categories"].([]any) // a page may have none
			for _, c := range categories {
				names = append(names, strings.TrimPrefix(c.(map[string]any)["title"].(string), "Category:"))
			}
			slices.Sort(names)
			return fmt.Sprint(r["lastrevid"], strings.Join(names, ","))
		},
		false, false,
	},
}

// base36 writes a SHA-1 as MediaWiki stores it.
func base36(hex string) string {
	n, _ := new(big.Int).SetString(hex, 16)
	return fmt.Sprintf("%031s", n.Text(36))
}

// Every connector that `collect connectors` calls live-tested is run here against
// the server that it names, and no other one is. Those that take minutes to bring
// are run by scripts/live alone.
func TestCatalog(t *testing.T) {
	home := t.TempDir()
	listed := finish(t, user{env: []string{"HOME=" + home}}.bare("connectors", "--json"))
	listed.wantCode(t, 0)
	var rows []struct {
		Connector   string
		LiveAgainst *string `json:"live_against"`
	}
	must(t, json.Unmarshal(listed.stdout, &rows))
	live := map[string]string{}
	for _, row := range rows {
		if row.LiveAgainst != nil {
			live[row.Connector] = *row.LiveAgainst
		}
	}
	var run []string
	for _, s := range shelves {
		run = append(run, s.connector)
		if s.long && !*long {
			continue
		}
		t.Run(s.connector, func(t *testing.T) {
			t.Parallel()
			s.test(t, live[s.connector])
		})
	}
	slices.Sort(run)
	if says := slices.Sorted(maps.Keys(live)); !slices.Equal(run, says) {
		t.Errorf("collect connectors calls %v live-tested; run here: %v", says, run)
	}
}

// test walks the server while it changes, and after a kill.
func (s shelf) test(t *testing.T, says string) {
	server := s.start(t)
	t.Cleanup(func() { must(t, server.Close()) })
	version, err := server.Version()
	must(t, err)
	if says == "" || version != says && !strings.HasPrefix(version, says+".") {
		t.Errorf("collect connectors names %q; the server is %q", says, version)
	}
	door := openDoor(t, server.URL())
	args := []string{"--param", "url=" + door.URL}
	for _, p := range s.params {
		args = append(args, "--param", p)
	}
	var env []string
	if secret, ok := server.(interface{ Env() []string }); ok {
		env = secret.Env()
	}
	round, once := 0, services.Stored{}
	change := func() {
		round++
		if err := server.Change(round); err != nil {
			t.Error(err)
		}
	}

	t.Run("changes", func(t *testing.T) {
		u := catalogUser(t, s.connector, env...)
		s.remember(t, server, once)
		door.after(s.pages/2, change)
		u.collect(t, "run", args...).wantCode(t, 0)
		if n := len(door.asked()); n < s.pages {
			t.Errorf("the walk had %d pages, want at least %d", n, s.pages)
		}
		door.after(0, nil)
		u.collect(t, "run", args...).wantCode(t, 0)
		s.compare(t, "next run", u, once, server)
		s.remember(t, server, once)
		change()
		u.collect(t, "run", args...).wantCode(t, 0)
		s.compare(t, "another change", u, once, server)
	})
	t.Run("killed", func(t *testing.T) {
		u := catalogUser(t, s.connector, env...)
		s.remember(t, server, once)
		run := u.command("run", append(args, "--create", "-q")...)
		door.after(s.pages*2/3, func() { run.Process.Kill() })
		must(t, run.Start())
		if err := run.Wait(); err == nil {
			t.Fatal("the run ended before it was killed")
		}
		change()
		door.after(0, nil)
		u.collect(t, "resume", args...).wantCode(t, 0)
		u.collect(t, "run", args...).wantCode(t, 0)
		s.compare(t, "resumed", u, once, server)
	})
}

// remember adds to once what the storage of the server holds.
func (s shelf) remember(t *testing.T, server services.Shelf, once services.Stored) services.Stored {
	t.Helper()
	now, err := server.Stored()
	must(t, err)
	for stream, records := range now {
		if once[stream] == nil {
			once[stream] = map[string]any{}
		}
		maps.Copy(once[stream], records)
	}
	return now
}

// compare fails the test unless collect has every record that the server has now,
// with its content, and beside them only those that the server once had, and none
// where it tells what was deleted.
func (s shelf) compare(t *testing.T, step string, u user, once services.Stored, server services.Shelf) {
	t.Helper()
	now := s.remember(t, server, once)
	for stream, want := range now {
		exported := finish(t, u.command("export", stream))
		exported.wantCode(t, 0)
		have := map[string]any{}
		for line := range bytes.Lines(exported.stdout) {
			var record map[string]any
			must(t, json.Unmarshal(line, &record))
			have[services.Key(s.key(stream, record)...)] = s.content(stream, record)
		}
		var missing, stale, unknown []string
		for key, content := range want {
			if got, there := have[key]; !there {
				missing = append(missing, key)
			} else if got != content {
				stale = append(stale, key)
			}
		}
		for key := range have {
			_, was := once[stream][key]
			if _, there := want[key]; !there && (!was || s.deletes) {
				unknown = append(unknown, key)
			}
		}
		t.Logf("%s: %s: the server has %d, collect %d", step, stream, len(want), len(have))
		if len(want) == 0 {
			t.Errorf("%s: %s: nothing to compare with", step, stream)
		}
		if len(missing)+len(stale)+len(unknown) > 0 {
			t.Errorf("%s: %s: missing %q, stale %q, unknown %q", step, stream, missing, stale, unknown)
		}
	}
}
