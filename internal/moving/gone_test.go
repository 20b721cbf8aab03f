package moving_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
	"collect/store"
)

// TestAGoneListComesBack: the list of a project is gone for a while, as where issues are switched off, or a server
// has not heard of a new project yet. It is asked for again in the next pass, or when its project changed, and then
// as any other.
func TestAGoneListComesBack(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			b := newBoard(2, 10)
			c, db := b.open(t, way+", on: [{status: [410], verdict: gone}]")
			list := "/projects/2/tasks"
			step := func(want collection.Outcome, asked bool) {
				t.Helper()
				b.asked = nil
				outcome, _ := run(t, db, c, fmt.Sprint("run-", b.clock))
				if got := slices.Contains(b.asked, list); outcome != want || got != asked || strings.Count(fmt.Sprint(b.asked), list) > 1 {
					t.Errorf("run %d is %s after %q, want %s, and the list asked for once: %t", b.clock, outcome, b.asked, want, asked)
				}
				b.clock++
			}
			whenChanged := strings.Contains(way, "changed:")
			step(collection.Complete, true)
			b.version[9], b.gone[list] = 60, true
			b.changed[2]++
			step(collection.Complete, true)
			step(collection.NothingNew, !whenChanged)
			b.gone[list] = false
			b.changed[2]++
			step(collection.Complete, true)
			if wrong := b.wrong(t, db); len(wrong) > 0 {
				t.Errorf("%q", wrong)
			}
			if gaps, err := db.Gaps(t.Context(), "moving"); err != nil || len(gaps) > 0 {
				t.Errorf("owed: %+v, %v", gaps, err)
			}
			step(collection.NothingNew, !whenChanged)
		})
	}
}

// TestAWaivedListIsLeftAlone: what a person gave up is not asked for again.
func TestAWaivedListIsLeftAlone(t *testing.T) {
	b := newBoard(2, 10)
	c, db := b.open(t, ways["in each run"]+", on: [{status: [410], verdict: gone}]")
	list := "/projects/2/tasks"
	b.gone[list] = true
	run(t, db, c, "run-0")
	gaps, err := db.Gaps(t.Context(), "moving")
	if err != nil || len(gaps) != 1 {
		t.Fatalf("owed: %+v, %v, want one", gaps, err)
	}
	if _, err := db.Waive(t.Context(), "moving", []int64{gaps[0].ID}, store.Audit{Who: "me", Why: "it stays away"}); err != nil {
		t.Fatal(err)
	}
	b.asked = nil
	run(t, db, c, "run-1")
	if slices.Contains(b.asked, list) {
		t.Errorf("asked for %q", b.asked)
	}
}

// TestAListGoneBehindItsFirstPage: a project is deleted between two pages of its tasks. That its list is gone is what a
// rule says of the first page.
func TestAListGoneBehindItsFirstPage(t *testing.T) {
	gone, back := false, false
	var asked []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		switch {
		case r.URL.Path == "/projects":
			fmt.Fprint(w, `[{"id":1}]`)
		case back && page == 3:
			fmt.Fprint(w, `[{"id":6}]`)
		case back && page > 3:
			fmt.Fprint(w, `[]`)
		case gone && !back:
			w.WriteHeader(http.StatusNotFound)
		default:
			fmt.Fprintf(w, `[{"id":%d},{"id":%d}]`, 2*page, 2*page+1)
			gone = true
		}
	}))
	defer web.Close()
	c, db := openFile(t, fmt.Sprintf(`
connector: moving
provider: {base_url: %q, pace: off}
streams:
  projects: {get: /projects, key: id, page: {none: true}}
  items:
    get: "/projects/${project}/tasks"
    key: id
    each: {project: projects.id}
    page: {number: {param: page, size: 2}}
    on: [{status: [404], verdict: gone}]
`, web.URL))
	for n := range 3 {
		asked = nil
		outcome, _ := run(t, db, c, fmt.Sprint("run-", n))
		gaps, err := db.Gaps(t.Context(), "moving")
		requests := 2 // the projects, and its first page
		if n == 0 {
			requests = 4
		}
		if err != nil || len(gaps) != 1 || gaps[0].Reason != collection.Gone || outcome == collection.Blocked || len(asked) != requests {
			t.Errorf("run %d is %s after %q and owes %+v, %v, want one that is gone after %d requests", n, outcome, asked, gaps, err, requests)
		}
	}
	back = true
	run(t, db, c, "run-back")
	if got := contents(t, db); len(got) != 5 {
		t.Errorf("after it came back, %d tasks are stored, want 5", len(got))
	}
}

// TestADeletionAfterAMoveFromAGoneList: a task moves to another project, whose list has it, and is deleted there. The
// project that it came from is gone, and is not handed the task.
func TestADeletionAfterAMoveFromAGoneList(t *testing.T) {
	for _, way := range []string{"and swept", "when changed swept"} {
		t.Run(way, func(t *testing.T) {
			b := newBoard(2, 10)
			c, db := b.open(t, ways[way]+", on: [{status: [410], verdict: gone}]")
			run(t, db, c, "run-0")
			b.move(3, 2, true)
			b.gone["/projects/1/tasks"] = true
			run(t, db, c, "run-1")
			delete(b.project, 3)
			for n := range 3 {
				b.changed[2]++
				run(t, db, c, fmt.Sprint("run-", n+2))
			}
			for record, err := range db.Records(t.Context(), "moving", "items") {
				if err != nil {
					t.Fatal(err)
				}
				if record.Key == "3" && !record.Deleted {
					t.Errorf("the deleted task is %s of %s", record.Data, record.Partition)
				}
			}
		})
	}
}

// TestAGoneListThatIsBadAtFirst: a list that was gone in many passes is no page when it comes back, and then is. That it was
// gone counts as no try.
func TestAGoneListThatIsBadAtFirst(t *testing.T) {
	b := newBoard(2, 10)
	c, db := b.open(t, ways["in each run"]+", on: [{status: [410], verdict: gone}]")
	list := "/projects/2/tasks"
	b.gone[list] = true
	for n := range 9 {
		run(t, db, c, fmt.Sprint("run-", n))
	}
	b.refused = http.StatusBadRequest
	run(t, db, c, "run-bad")
	clear(b.gone)
	run(t, db, c, "run-good")
	if wrong := b.wrong(t, db); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
}
