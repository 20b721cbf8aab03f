package moving_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"collect/collection"
	"collect/connectors"
	"collect/store"
	"collect/store/sqlite"
)

// A board has tasks below projects, by their ids.
type board struct {
	mu      sync.Mutex
	project map[int]int // of a task
	version map[int]int // of a task
	changed map[int]int // of a project
	clock   int
	asked   []string
	pages   int               // tasks on a page
	gone    map[string]bool   // lists of projects that were deleted
	refused int               // the status that says so
	answer  func(path string) // called when a list was read to its end
}

func newBoard(projects, tasks int) *board {
	b := &board{project: map[int]int{}, version: map[int]int{}, changed: map[int]int{}, pages: tasks, gone: map[string]bool{}, refused: http.StatusGone}
	for p := range projects {
		b.changed[p+1] = 1
	}
	for id := range tasks {
		b.project[id+1], b.version[id+1] = id*projects/tasks+1, 1
	}
	return b
}

// move moves a task to a project. Both projects say that they changed, if told is true.
func (b *board) move(task, to int, told bool) {
	b.clock++
	if told {
		b.changed[b.project[task]]++
		b.changed[to]++
	}
	b.project[task], b.version[task] = to, 100+b.clock
}

func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, r.URL.Path)
	if b.gone[r.URL.Path] {
		w.WriteHeader(b.refused)
		return
	}
	list := []map[string]int{}
	if r.URL.Path == "/projects" {
		for _, p := range slices.Sorted(maps.Keys(b.changed)) {
			list = append(list, map[string]int{"id": p, "changed": b.changed[p]})
		}
	} else {
		p, _ := strconv.Atoi(strings.Split(r.URL.Path, "/")[2])
		since, _ := strconv.Atoi(r.URL.Query().Get("since"))
		ids := slices.SortedFunc(maps.Keys(b.project), func(one, other int) int {
			return cmp.Or(b.version[one]-b.version[other], one-other)
		})
		for _, id := range ids {
			if b.project[id] == p && b.version[id] >= since {
				list = append(list, map[string]int{"id": id, "project": p, "version": b.version[id]})
			}
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	to := min(from+b.pages, len(list))
	page := map[string]any{"items": list[min(from, to):to], "next": ""}
	if to < len(list) {
		page["next"] = strconv.Itoa(to)
	}
	_ = json.NewEncoder(w).Encode(page)
	if b.answer != nil && to == len(list) {
		b.answer(r.URL.Path)
	}
}

func (b *board) open(t *testing.T, tasks string) (connectors.Connector, *sqlite.Store) {
	t.Helper()
	return openTasks(t, b, tasks)
}

// openTasks opens a server that has tasks below projects, which are collected in one of the ways.
func openTasks(t *testing.T, server http.Handler, way string) (connectors.Connector, *sqlite.Store) {
	t.Helper()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	return openFile(t, fmt.Sprintf(`
connector: moving
provider: {base_url: %q, pace: off}
defaults: {records: items, page: {cursor: {from: next, param: from}}}
streams:
  projects: {get: /projects, key: id}
  items: {get: "/projects/${project}/tasks", key: id, %s}
`, web.URL, way))
}

// wrong returns the tasks that are not stored as the board has them.
func (b *board) wrong(t *testing.T, db *sqlite.Store) (wrong []string) {
	t.Helper()
	stored := map[int]string{}
	for record, err := range db.Records(t.Context(), "moving", "items") {
		if err != nil {
			t.Fatal(err)
		}
		var task struct{ ID, Project, Version int }
		if err := json.Unmarshal(record.Data, &task); err != nil {
			t.Fatal(err)
		}
		stored[task.ID] = fmt.Sprintf("%d in %d, %v", task.Version, task.Project, record.Partition)
		if record.Deleted {
			stored[task.ID] += ", deleted"
		}
	}
	for id, p := range b.project {
		if want := fmt.Sprintf("%d in %d, project=%d", b.version[id], p, p); stored[id] != want {
			wrong = append(wrong, fmt.Sprintf("task %d is version %q, want %q", id, stored[id], want))
		}
	}
	return wrong
}

// ways are how the tasks of a board are collected.
var ways = map[string]string{
	"in each run":        "each: {project: projects.id}",
	"and swept":          "each: {project: projects.id}, deletes: sweep",
	"when changed":       "each: {project: projects.id, changed: projects.changed}",
	"when changed swept": "each: {project: projects.id, changed: projects.changed}, deletes: sweep",
	"from a mark":        "each: {project: projects.id}, since: {field: version, param: since, order: asc}",
}

// moveOnce has a task move to the other project when the list that it is in was read.
func (b *board) moveOnce(then func(path string)) {
	moved := false
	b.answer = func(path string) { // whichever list is read first
		if first := map[string][2]int{"/projects/1/tasks": {3, 2}, "/projects/2/tasks": {7, 1}}[path]; first[0] != 0 && !moved {
			moved = true
			b.move(first[0], first[1], false)
			then(path)
		}
	}
}

// TestMovesBetweenParents: a task moves to a project that is still to be read from one that
// was read. The run reads both lists once more, and stores its new version.
func TestMovesBetweenParents(t *testing.T) {
	for name, way := range ways {
		for _, pages := range []int{10, 2} {
			t.Run(fmt.Sprint(name, " by ", pages), func(t *testing.T) {
				b := newBoard(2, 10)
				b.pages = pages
				c, db := b.open(t, way)
				run(t, db, c, "run-1")
				b.changed[1]++
				b.changed[2]++
				b.version[3], b.version[7] = 50, 50 // a list that is asked from its mark shows them, too
				b.moveOnce(func(string) {})
				b.asked = nil
				if outcome, _ := run(t, db, c, "run-2"); outcome != collection.Complete {
					t.Errorf("the run in which it moves is %s, want complete", outcome)
				}
				if wrong := b.wrong(t, db); len(wrong) > 0 || len(b.asked) > 1+4*(10/pages) {
					t.Errorf("after %q: %q", b.asked, wrong)
				}
				b.asked = nil
				if outcome, _ := run(t, db, c, "run-3"); outcome != collection.NothingNew {
					t.Errorf("the next run is %s after %q, want nothing new", outcome, b.asked)
				}
			})
		}
	}
}

// TestMovesAtTheEndOfABudget: a run that ends before both lists were read again leaves that to the next one, whichever
// request was its last.
func TestMovesAtTheEndOfABudget(t *testing.T) {
	owed := 0
	for name, way := range ways {
		for _, budget := range []int64{3, 4, 5} {
			t.Run(fmt.Sprint(name, " and ", budget), func(t *testing.T) {
				b := newBoard(2, 10)
				c, db := b.open(t, way)
				b.moveOnce(func(string) {})
				for n := range 3 {
					if n > 0 {
						budget = 0
					}
					outcome, _ := runWithin(t, db, c, fmt.Sprint("run-", n), budget)
					if outcome == collection.Blocked {
						t.Errorf("run %d is %s", n, outcome)
					}
					gaps, err := db.Gaps(t.Context(), "moving")
					if err != nil {
						t.Fatal(err)
					}
					for _, g := range gaps {
						if n > 0 {
							t.Errorf("after run %d %s is owed for %s", n, g.Place, g.Reason)
						}
						if g.Cursor == collection.AtContested {
							owed++
							if g.Reason != collection.Contested {
								t.Errorf("%s is owed for %s, want contested", g.Place, g.Reason)
							}
						}
					}
				}
				if wrong := b.wrong(t, db); len(wrong) > 0 {
					t.Errorf("after %q: %q", b.asked, wrong)
				}
			})
		}
	}
	if owed == 0 {
		t.Error("no run left it to the next one")
	}
}

// TestMovesFromAParentThatGoes: the project that a task moved from is deleted before its list can be
// read again. The one that it moved to is deleted as well: then it stays in quarantine.
func TestMovesFromAParentThatGoes(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			b := newBoard(2, 10)
			c, db := b.open(t, way)
			b.moveOnce(func(path string) { b.gone[path] = true })
			run(t, db, c, "run-1")
			for _, wrong := range b.wrong(t, db) {
				if strings.HasPrefix(wrong, "task 3 ") || strings.HasPrefix(wrong, "task 7 ") {
					t.Errorf("after %q: %q", b.asked, wrong)
				}
			}
		})
		t.Run(name+", and to one that goes", func(t *testing.T) {
			b := newBoard(2, 10)
			c, db := b.open(t, way)
			b.moveOnce(func(path string) {
				b.answer = func(path string) {
					if path != "/projects" {
						b.gone["/projects/1/tasks"], b.gone["/projects/2/tasks"] = true, true
					}
				}
			})
			run(t, db, c, "run-1")
			states, err := db.Streams(t.Context(), "moving")
			if err != nil {
				t.Fatal(err)
			}
			if got := states[1].Collided; got != 1 {
				t.Errorf("%d records are in quarantine after %q, want 1", got, b.asked)
			}
		})
	}
}

// TestALostListIsReadAgainLater: the second of the two lists that a task was in is not found for once when they are read
// again. That decides nothing: it is read again by a later run.
func TestALostListIsReadAgainLater(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			b := newBoard(2, 10)
			b.refused = http.StatusNotFound
			c, db := b.open(t, way)
			lists := 0
			b.moveOnce(func(string) {
				b.answer = func(path string) { // the other list, both again; which of them was stored first is open
					if lists++; lists == 2 {
						b.gone["/projects/1/tasks"], b.gone["/projects/2/tasks"] = true, true
						delete(b.gone, path)
					}
				}
			})
			run(t, db, c, "run-1")
			clear(b.gone)
			gaps, err := db.Gaps(t.Context(), "moving")
			if err != nil || len(gaps) != 1 || gaps[0].Reason != collection.UpstreamPressure || gaps[0].State != collection.GapOpen {
				t.Fatalf("owed: %+v, %v, want a list that is read again later", gaps, err)
			}
			if _, err := db.Revive(t.Context(), "moving", []int64{gaps[0].ID}, store.Audit{Who: "me", Why: "at once"}); err != nil {
				t.Fatal(err)
			}
			run(t, db, c, "run-2")
			if wrong := b.wrong(t, db); len(wrong) > 0 {
				t.Errorf("after %q: %q", b.asked, wrong)
			}
			if gaps, err := db.Gaps(t.Context(), "moving"); err != nil || len(gaps) > 0 {
				t.Errorf("owed: %+v, %v, want nothing", gaps, err)
			}
		})
	}
}

// TestTheFirstListOfARunIsForbidden: a run begins with the list that a task moved from, and is not allowed to read it. That
// is about this list, and not about the account.
func TestTheFirstListOfARunIsForbidden(t *testing.T) {
	b := newBoard(3, 15)
	c, db := b.open(t, ways["when changed"])
	b.refused = http.StatusForbidden
	owner := ""
	b.moveOnce(func(path string) { owner = path })
	runWithin(t, db, c, "run-1", 4)
	b.gone[owner] = true
	runAs(t, db, c, collection.Run{ID: "run-2", Mode: collection.Resume}, 0)
	gaps, err := db.Gaps(t.Context(), "moving")
	if err != nil || len(gaps) != 1 || gaps[0].Cursor != collection.AtContested {
		t.Errorf("owed: %+v, %v, want only what the task waits for", gaps, err)
	}
}

// TestASweepBeforeTheDecision: a task moves, and before both lists are read again, the one that it left is walked and
// misses it. That hands its old version to the other list, which has shown a later one.
func TestASweepBeforeTheDecision(t *testing.T) {
	b := newBoard(2, 10)
	c, db := b.open(t, ways["when changed swept"])
	b.moveOnce(func(path string) {
		project, _ := strconv.Atoi(strings.Split(path, "/")[2])
		b.changed[project]++
	})
	runWithin(t, db, c, "run-1", 3)
	run(t, db, c, "run-2")
	if wrong := b.wrong(t, db); len(wrong) > 0 {
		t.Errorf("after %q: %q", b.asked, wrong)
	}
}

// TestAnEditBetweenTwoLists: two lists have a task, which is edited when one of them was read. When both are read again
// they agree, and the key is not called shared.
func TestAnEditBetweenTwoLists(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			edits, version := 0, 2
			server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.URL.Path == "/projects" {
					fmt.Fprintf(w, `{"items":[{"id":1,"changed":%[1]d},{"id":2,"changed":%[1]d}],"next":""}`, version)
					return
				}
				fmt.Fprintf(w, `{"items":[{"id":1,"version":%d}],"next":""}`, version)
				if edits == 1 {
					version++
				}
				edits--
			})
			c, db := openTasks(t, server, way)
			run(t, db, c, "run-1")
			mu.Lock()
			version, edits = 40, 1
			mu.Unlock()
			if outcome, _ := run(t, db, c, "run-2"); outcome != collection.Complete {
				t.Errorf("the run is %s, want complete", outcome)
			}
			for record, err := range db.Records(t.Context(), "moving", "items") {
				if err != nil || string(record.Data) != `{"id":1,"version":41}` {
					t.Errorf("stored: %s, %v, want version 41", record.Data, err)
				}
			}
		})
	}
}

// TestMovesBetweenManyParents: tasks move all the time while several projects are read side by side. No
// run takes that for a mistake in the file, and what is quiet at last is stored.
func TestMovesBetweenManyParents(t *testing.T) {
	contests := 0
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 5))
			b := newBoard(6, 30)
			c, db := b.open(t, way)
			quiet := false
			b.answer = func(string) {
				if !quiet && random.IntN(2) == 0 {
					b.move(random.IntN(30)+1, random.IntN(6)+1, true)
				}
			}
			for n := range 30 {
				quiet = n%6 == 5
				b.asked = nil
				outcome, _ := run(t, db, c, fmt.Sprint("run-", n))
				if outcome == collection.Blocked {
					t.Errorf("run %d is %s", n, outcome)
				}
				contests += max(0, len(b.asked)-7)
				if wrong := b.wrong(t, db); quiet && len(wrong) > 0 {
					t.Errorf("after run %d, in which nothing moved: %q", n, wrong)
				}
			}
		})
	}
	if contests == 0 {
		t.Error("no list was asked for once more")
	}
}

// TestParentsShareAKey: each project numbers its tasks from 1. The first run says so, and
// reads no more lists again than it takes to know.
func TestParentsShareAKey(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			asked := 0
			server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked++
				since, _ := strconv.Atoi(r.URL.Query().Get("since"))
				from, _ := strconv.Atoi(r.URL.Query().Get("from"))
				var list []string
				for n := range 8 {
					if n+1 >= since {
						list = append(list, fmt.Sprintf(`{"id":%d,"changed":1,"version":%d,"of":%q}`, n+1, n+1, r.URL.Path))
					}
				}
				to := min(from+4, len(list))
				next := ""
				if to < len(list) {
					next = strconv.Itoa(to)
				}
				fmt.Fprintf(w, `{"items":[%s],"next":%q}`, strings.Join(list[from:to], ","), next)
			})
			c, db := openTasks(t, server, way)
			outcome, _ := run(t, db, c, "run-1")
			states, err := db.Streams(t.Context(), "moving")
			if err != nil {
				t.Fatal(err)
			}
			lists := 8 * 2
			if strings.Contains(way, "since") {
				lists = 8 * 4 // from page to page it asks from the mark reached
			}
			if got := states[1]; outcome != collection.Blocked || got.Collided != 7*8 || got.Records != 8 || asked > 2+lists+4 {
				t.Errorf("the run is %s with %d records, %d of %d in quarantine collided, after %d requests, want blocked, 8, 56 and up to %d",
					outcome, got.Records, got.Collided, got.Quarantined, asked, 2+lists+4)
			}
		})
	}
}
