package sim_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"collect/pacing/sim"
)

var (
	page   = flag.String("score.page", "", "write what the rows say to this `file`")
	played = flag.String("score.played", "", "the rows: files whose names match this `pattern`; of those under parts/ beside them, what the law is without each of its parts")
	proved = flag.String("score.proved", "", "gates that other tests wrote: files whose names match this `pattern`")
)

// TestPartsAreInTheLaw: what scripts/score takes away is still there.
func TestPartsAreInTheLaw(t *testing.T) {
	script, err := os.ReadFile("../../scripts/score")
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?m)^without '([^']+)' (\S+) '([^']+)'$`).FindAllStringSubmatch(string(script), -1)
	for _, part := range parts {
		file := filepath.Join("../law", part[2])
		is, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		edited, err := exec.Command("sed", "-E", part[3], file).Output()
		if err != nil || bytes.Equal(is, edited) {
			t.Errorf("%s: nothing in %s is edited: %v", part[1], part[2], err)
		}
	}
	if len(parts) < 50 {
		t.Errorf("%d parts are taken away, want 50", len(parts))
	}
}

// TestPage writes the page of scripts/score from what was played.
func TestPage(t *testing.T) {
	if *page == "" {
		t.Skip("there is no page to write")
	}
	law := readRows(t, *played)
	informed := &client{}
	if i := slices.IndexFunc(law, func(c *client) bool { return c.name == sim.Informed().Name }); i >= 0 {
		informed, law = law[i], slices.Concat(law[:i], law[i+1:])
	}
	parts := readRows(t, filepath.Join(filepath.Dir(*played), "parts", filepath.Base(*played)))
	var b strings.Builder
	b.WriteString("## The gates\n\n| of the plateau law | wanted | reached | met |\n|---|--:|--:|---|\n")
	b.WriteString(gatesText(t, law[0]))
	if len(informed.tallies) > 0 {
		b.WriteString("\n## What a gate leaves to learn\n\n" +
			"The informed client is told the limit at each moment, from its first refusal on. Nobody is, so what it misses of a gate cannot\n" +
			"be had by asking. It reads nothing that is announced but Retry-After, and looks at no latency: where those tell more than a\n" +
			"refusal, the law may be the better one.\n\n| of the informed client | wanted | reached | met |\n|---|--:|--:|---|\n")
		for _, g := range workGates(informed.tallies) {
			b.WriteString(g.row())
		}
	}
	for i, half := range []struct{ title, about, name string }{
		{"Families that the law was tuned on", "", "tuned"},
		{"Families that it was not", "Written from what is ordinary, from what lasts longer than an hour, and from what vendors document: the\n" +
			"source of each is beside it in `pacing/sim`. An outage is no refusal by a limit, and is not counted as one.\n\n", "untuned"},
	} {
		if all := law[0].of(halves[half.name]); len(all) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n%s%s", half.title, half.about, familiesText(all, informed, i == 1))
		}
	}
	if all := law[0].of(sim.Jobs()); len(all) > 0 {
		b.WriteString("\n## Jobs\n\nThe slowest is that of the third run and those after it, as a multiple of the second, where less than a second\n" +
			"counts as one. The work is over all runs, and what a bucket has saved up between them is not asked for.\n\n" + jobsText(all))
	}
	if used := readRows(t, filepath.Join(filepath.Dir(*played), "ways", filepath.Base(*played))); len(used) > 0 {
		b.WriteString("\n## Six ways of use\n\nAn hour of each family, in one run or in 60 as cron starts them, with a ceiling declared or nothing.\n" +
			"A list is asked for page by page, one request at a time for each stream.\n" +
			"Families of which an instance had less than 70 % in one of them.\n\n" + waysText(used))
	}
	b.WriteString("\n## Clients\n\n" + clientsText("client", law))
	if len(parts) > 0 {
		b.WriteString("\n## Without one of its parts\n\n" + clientsText("plateau law", parts))
	}
	if err := os.WriteFile(*page, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A client is what one client made of the families, in the order of the page.
type client struct {
	name    string
	tallies []*tally
}

// of returns the families of c that are in a half.
func (c *client) of(half []sim.Family) []*tally {
	return slices.DeleteFunc(slices.Clone(c.tallies), func(a *tally) bool {
		return !slices.ContainsFunc(half, func(f sim.Family) bool { return f.Name == a.family.Name })
	})
}

// readRows returns what is in the files of a pattern: the clients in the order
// of the names of the files, the families in that of the package.
func readRows(t *testing.T, pattern string) []*client {
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all []*client
	find := func(name string) *client {
		i := slices.IndexFunc(all, func(c *client) bool { return c.name == name })
		if i < 0 {
			i, all = len(all), append(all, &client{name: name})
		}
		return all[i]
	}
	kinds := append(sim.Kinds(), sim.Jobs()...)
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var i instance
			if err := json.Unmarshal(lines.Bytes(), &i); err != nil {
				t.Fatal(err)
			}
			c := find(i.Client)
			at := slices.IndexFunc(c.tallies, func(a *tally) bool { return a.family.Name == i.Family })
			if at < 0 {
				kind := slices.IndexFunc(kinds, func(f sim.Family) bool { return f.Name == i.Family })
				at, c.tallies = len(c.tallies), append(c.tallies, &tally{family: kinds[kind]})
			}
			c.tallies[at].all = append(c.tallies[at].all, i)
		}
	}
	for _, c := range all {
		slices.SortFunc(c.tallies, func(a, b *tally) int {
			return slices.IndexFunc(kinds, named(a)) - slices.IndexFunc(kinds, named(b))
		})
	}
	return all
}

func named(a *tally) func(sim.Family) bool {
	return func(f sim.Family) bool { return f.Name == a.family.Name }
}

// gatesText returns a line for each gate, those of other tests last.
func gatesText(t *testing.T, c *client) string {
	var b strings.Builder
	gates := slices.Concat(neverGates(c.tallies), workGates(c.tallies), dailyGates(c.tallies))
	if all := c.of(sim.Families()); len(all) == len(sim.Families()) {
		gates = append(gates, startGates(all)...)
	}
	for _, g := range gates {
		b.WriteString(g.row())
	}
	files, err := filepath.Glob(*proved)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

// familiesText returns a line for each family. outages adds a column for those.
func familiesText(all []*tally, informed *client, outages bool) string {
	var b strings.Builder
	b.WriteString("| family | provider | work | informed | worst | informed | refused of 1000 | informed | banned | refusals in 5 min, worst | 90 % after, median | latency |")
	rule := "\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
	if outages {
		b.WriteString(" asked after, worst |")
		rule += "--:|"
	}
	b.WriteString(rule + "\n")
	for _, a := range all {
		about := a.family.About
		if !a.family.Learnable {
			about += " (not counted)"
		}
		reached := "never"
		if at := median(a.each(reachedOf)); at < 1e9 {
			reached = fmt.Sprintf("%.0f s", at)
		}
		bans := 0
		for _, i := range a.all {
			if i.Banned {
				bans++
			}
		}
		shares, least, refused := "", "", ""
		if i := slices.IndexFunc(informed.tallies, func(i *tally) bool { return i.family.Name == a.family.Name }); i >= 0 {
			best := informed.tallies[i]
			shares, least = fmt.Sprintf("%.1f %%", mean(best.shares())), fmt.Sprintf("%.1f %%", slices.Min(best.shares()))
			refused = fmt.Sprintf("%.2f", best.refused())
		}
		fmt.Fprintf(&b, "| %s | %s | %.1f %% | %s | %.1f %% | %s | %.2f | %s | %d | %.0f | %s | ×%.1f |", a.family.Name, about, mean(a.shares()), shares,
			slices.Min(a.shares()), least, a.refused(), refused, bans, slices.Max(a.each(func(i instance) float64 { return i.Cold })), reached,
			mean(a.each(func(i instance) float64 { return i.Latency })))
		if outages {
			b.WriteString(" " + askedText(a) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func askedText(a *tally) string {
	worst := -1.0
	for _, i := range a.all {
		if i.Asked != nil {
			worst = max(worst, *i.Asked)
		}
	}
	if worst < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f s", worst)
}

// jobsText returns a line for each kind of job.
func jobsText(all []*tally) string {
	var b strings.Builder
	b.WriteString("| job | provider | work | worst | refused of 1000 | slowest, median | slowest, worst |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, a := range all {
		half, worst := "", ""
		if len(a.all[0].Runs) > 2 {
			slowest := a.each(func(i instance) float64 { return i.slowest() })
			half, worst = fmt.Sprintf("×%.2f", median(slowest)), fmt.Sprintf("×%.2f", slices.Max(slowest))
		}
		fmt.Fprintf(&b, "| %s | %s | %.1f %% | %.1f %% | %.2f | %s | %s |\n", a.family.Name, a.family.About,
			mean(a.shares()), slices.Min(a.shares()), a.refused(), half, worst)
	}
	return b.String()
}

// clientsText returns a line for each client, with both halves.
func clientsText(title string, all []*client) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | tuned: work, mean | worst family | refused of 1000, mean | median | not tuned: work, mean | worst family | refused of 1000, mean | median | "+
		"asked again, worst | slowest run, worst | banned | in a Retry-After | rises on an error |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n", title)
	for _, c := range all {
		fmt.Fprintf(&b, "| %s |", c.name)
		for _, half := range []string{"tuned", "untuned"} {
			work := c.of(halves[half])
			work = slices.DeleteFunc(work, func(a *tally) bool { return !a.family.Learnable })
			if len(work) == 0 {
				b.WriteString(" | | | |")
				continue
			}
			var shares, refused []float64
			for _, a := range work {
				shares, refused = append(shares, mean(a.shares())), append(refused, a.refused())
			}
			fmt.Fprintf(&b, " %.1f %% | %.0f %% | %.1f | %.1f |", mean(shares), slices.Min(shares), mean(refused), median(refused))
		}
		asked, slowest := "", ""
		for _, g := range dailyGates(c.tallies) {
			switch {
			case strings.HasPrefix(g.what, "outages"):
				asked = fmt.Sprintf("%.0f s", g.got)
			case strings.HasPrefix(g.what, "jobs"):
				slowest = fmt.Sprintf("×%.2f", g.got)
			}
		}
		never := neverGates(c.tallies)
		fmt.Fprintf(&b, " %s | %s | %.0f | %.0f | %.0f |\n", asked, slowest, never[0].got, never[1].got, never[2].got)
	}
	return b.String()
}
