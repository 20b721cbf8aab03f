// Command mutate breaks the code of a package in one place at a time, and
// counts how often the package's own tests notice:
//
//	mutate [-sample N] [-seed N] [-only REGEXP] [-least PERCENT] PACKAGE
//
// It builds the tests once, with all mutants in them, each behind a question
// to the environment; and it runs for each mutant only those tests that come
// to its place, the quick ones first. So a mutant costs what its tests cost,
// and no build.
//
// Mutants are swapped operators (arithmetic, comparison, logic, ++, +=, a
// minus sign), break for continue, and min for max.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

func main() {
	sample := flag.Int("sample", 1, "try one mutant of so many")
	seed := flag.Uint64("seed", 1, "of the sample")
	only := flag.String("only", "", "try those whose file:line:column matches")
	tests := flag.String("tests", "", "the package whose tests are asked, if not the one that is changed")
	least := flag.Float64("least", 85, "fail below so many of 100")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	score, err := mutate(ctx, flag.Arg(0), cmp.Or(*tests, flag.Arg(0)), *sample, *seed, regexp.MustCompile(*only))
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	if score < *least {
		os.Exit(1)
	}
}

// mutate prints what becomes of the mutants of a package, and returns how many
// of 100 the tests of a package noticed.
func mutate(ctx context.Context, pattern, tests string, sample int, seed uint64, only *regexp.Regexp) (float64, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // some tests run themselves as an unprivileged user
		return 0, err
	}
	began := time.Now()
	chosen := func(m mutant) bool { return only.MatchString(m.place()) }
	b, err := build(ctx, pattern, tests, dir, chosen)
	if err != nil {
		return 0, err
	}
	if err := b.survey(ctx); err != nil {
		return 0, err
	}
	all := slices.DeleteFunc(slices.Clone(b.mutants), func(m mutant) bool { return b.skip[m.id] || !chosen(m) })
	of := len(all)
	chance := rand.New(rand.NewPCG(seed, 0))
	chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:(len(all)+sample-1)/sample]
	slices.SortFunc(all, func(a, b mutant) int { return a.id - b.id })
	fmt.Printf("%s: %d of %d mutants, %d do not compile; built and surveyed in %v\n",
		pattern, len(all), of, len(b.skip), time.Since(began).Round(time.Second))

	count := map[fate]int{}
	for _, m := range all {
		became, err := b.try(ctx, m)
		if err != nil {
			return 0, err
		}
		count[became]++
		if became != noticed {
			fmt.Printf("%-10s %s  %s\n", became, m.place(), m.what)
		}
	}
	score := 100 * float64(count[noticed]) / float64(max(1, len(all)-count[hung]))
	fmt.Printf("%s: noticed %d, alive %d, not reached %d, hung %d: %.1f of 100, in %v\n", pattern,
		count[noticed], count[alive], count[unreached], count[hung], score, time.Since(began).Round(time.Second))
	return score, nil
}

// place returns file:line:column.
func (m mutant) place() string {
	return fmt.Sprintf("%s:%d:%d", filepath.Base(m.at.Filename), m.at.Line, m.at.Column)
}
