package collection_test

import (
	"strings"
	"testing"

	"collect/collection"
)

// TestReplacedRecordsMayHaveBeenUpdated: a walk that takes several runs meets records again
// that were updated meanwhile, so that the warning names both causes.
func TestReplacedRecordsMayHaveBeenUpdated(t *testing.T) {
	e := collection.Evidence{Pages: 3, Records: 300, Again: 40, Replaced: 40, End: collection.EndMark}
	want := "40 of 300 records replaced another record of the same walk: they were updated while it was under way, or `key` is not unique"
	if got := e.Warnings(); len(got) != 1 || got[0].Text != want {
		t.Errorf("Warnings() = %q, want %q", got, want)
	}
}

// TestEvidence: what speaks against a pass being complete, what cannot be known
// of it, and what a person should look at.
func TestEvidence(t *testing.T) {
	const end = collection.EndEmpty
	tests := []struct {
		name    string
		e       collection.Evidence
		against string // begins the contradiction
		doubt   string
		warning collection.WarningCode
	}{
		{"by the provider's mark", collection.Evidence{Pages: 3, Records: 30, End: collection.EndMark}, "", "", ""},
		{"the total came", collection.Evidence{Pages: 3, Records: 30, By: "x", First: 30, Total: 30, Counted: true, End: end}, "", "", ""},
		{"more than the total came", collection.Evidence{Pages: 3, Records: 33, By: "x", First: 30, Total: 33, Counted: true, End: end}, "", "", ""},
		{"less than the total came", collection.Evidence{Pages: 3, Records: 29, By: "x", First: 30, Total: 30, End: end}, "x says 30, but only 29 came", "", ""},
		{"some of them came twice", collection.Evidence{Pages: 3, Records: 30, Again: 2, By: "x", First: 30, Total: 30, End: end}, "x says 30, but only 28 came", "", ""},
		{"a page is owed", collection.Evidence{Pages: 3, Records: 20, Holes: 1, By: "x", First: 30, Total: 30, End: end}, "", "", ""},
		{"the walk goes on", collection.Evidence{Pages: 2, Records: 20, By: "x", First: 30, Total: 30}, "", "", ""},
		{"the total fell, by number", collection.Evidence{Pages: 2, Records: 12, Fell: 1, By: "x", First: 12, Total: 11, Counted: true, End: end}, "x fell from 12 to 11", "", ""},
		{"the total fell and rose", collection.Evidence{Pages: 2, Records: 12, Fell: 1, By: "x", First: 12, Total: 12, Counted: true, End: end}, "x fell while the list was read, though it says 12", "", ""},
		{"the total fell, by cursor", collection.Evidence{Pages: 2, Records: 12, Fell: 1, By: "x", First: 12, Total: 11, End: end}, "", "", ""},
		{"a page did not begin where one ended", collection.Evidence{Pages: 3, Records: 30, Seams: 2, Torn: 1, Counted: true, End: end}, "1 of 2 pages", "", ""},
		{"all pages did", collection.Evidence{Pages: 3, Records: 30, Seams: 2, Counted: true, End: end}, "", "", ""},
		{"some were updated and moved to the end", collection.Evidence{Pages: 3, Records: 31, Again: 1, Replaced: 1, Later: 1, By: "x", First: 30, Total: 31, Counted: true, End: end}, "1 of 31 records came twice, the second time with a later mark", "", ""},
		{"the same, by a cursor that may count", collection.Evidence{Pages: 3, Records: 31, Again: 1, Replaced: 1, Later: 1, By: "x", First: 30, Total: 31, End: end}, "1 of 31 records came twice", "", ""},
		{"the same, by cursor without a total", collection.Evidence{Pages: 3, Records: 31, Again: 1, Replaced: 1, Later: 1, End: end}, "", "", ""},
		{"the same, and as many came as there are", collection.Evidence{Pages: 3, Records: 32, Again: 1, Replaced: 1, Later: 1, By: "x", First: 30, Total: 31, Counted: true, End: end}, "", "", ""},
		{"the same, without a total", collection.Evidence{Pages: 3, Records: 31, Again: 1, Replaced: 1, Later: 1, Counted: true, End: end}, "1 of 31 records came twice", "no total", ""},
		{"records were made in front of them", collection.Evidence{Pages: 3, Records: 31, Again: 1, Replaced: 1, By: "x", First: 30, Total: 31, Counted: true, End: end}, "", "", ""},
		{"numbered, without a total", collection.Evidence{Pages: 3, Records: 30, Counted: true, End: end}, "", "no total", ""},
		{"one page", collection.Evidence{Pages: 1, Records: 3, Counted: true, End: end}, "", "", ""},
		{"nothing ever came", collection.Evidence{Pages: 1, Counted: true, End: end}, "", "no records at all", ""},
		{"a tie that no one orders", collection.Evidence{Pages: 2, Records: 20, Again: 4, Replaced: 1, Tied: true}, "3 of 20 records with the same mark", "", ""},
		{"a tie whose records were updated", collection.Evidence{Pages: 2, Records: 20, Again: 4, Replaced: 4, Tied: true}, "", "", ""},
		{"pages of pages", collection.Evidence{Pages: 2, Records: 20, InPages: true, By: "x", First: 3, Total: 3, Counted: true, End: end}, "x says 3, but only 2 pages came", "no total", ""},
		{"as many pages as told", collection.Evidence{Pages: 3, Records: 30, InPages: true, By: "x", First: 3, Total: 3, Counted: true, End: end}, "", "no total", ""},
		{"the number of the page", collection.Evidence{Pages: 2, Records: 20, InPages: true, By: "x", First: 1, Total: 2, Counted: true, End: end}, "x says 1 on the first page and 2 on page 2", "no total", ""},
		{"from a mark, the total of everything", collection.Evidence{Pages: 1, Records: 3, Partial: true, By: "x", First: 2401, Total: 2401, Stored: 2401, End: end}, "", "", ""},
		{"from a mark, more than is stored", collection.Evidence{Pages: 1, Records: 3, Partial: true, By: "x", First: 2401, Total: 2401, Stored: 2371, End: end}, "x says 2401, but only 2371 are stored", "", ""},
		{"from a mark, the total of what was asked for", collection.Evidence{Pages: 2, Records: 100, Partial: true, By: "x", First: 130, Total: 130, Stored: 2371, End: end}, "x says 130, but only 100 came", "", ""},
		{"a record took the place of another parent's", collection.Evidence{Pages: 1, Records: 7, Moved: 1, End: collection.EndMark}, "", "", collection.Overwritten},
		{"the same, and only what changed came", collection.Evidence{Pages: 1, Records: 4, Moved: 1, Partial: true, End: collection.EndMark}, "", "", collection.Overwritten},
		{"a key that is not unique", collection.Evidence{Pages: 3, Records: 300, Again: 40, Replaced: 40, End: collection.EndMark}, "", "", collection.Overwritten},
		{"some stray", collection.Evidence{Pages: 3, Records: 300, Again: 2, Strayed: 1, Counted: true, End: end}, "", "no total", collection.OrderChanges},
		{"the same, by a cursor", collection.Evidence{Pages: 3, Records: 300, Again: 2, Strayed: 1, End: end}, "", "", collection.OrderChanges},
		{"the same, and as many as the total came", collection.Evidence{Pages: 3, Records: 302, Again: 2, Strayed: 1, By: "x", First: 300, Total: 300, End: end}, "", "", ""},
		{"the same, from a mark", collection.Evidence{Pages: 3, Records: 300, Again: 2, Strayed: 1, Partial: true, End: end}, "", "", collection.OrderChanges},
		{"less than half", collection.Evidence{Pages: 1, Records: 29, Before: 60, End: end}, "", "", collection.FarFewer},
		{"half", collection.Evidence{Pages: 1, Records: 30, Before: 60, End: end}, "", "", ""},
		{"few, three times, and then none", collection.Evidence{Pages: 1, Before: 5, Filled: 3, By: "x", End: end}, "", "", collection.FarFewer},
		{"few, twice, and then none", collection.Evidence{Pages: 1, Before: 5, Filled: 2, By: "x", End: end}, "", "", ""},
		{"fewer of few", collection.Evidence{Pages: 1, Records: 1, Before: 5, Filled: 3, By: "x", End: end}, "", "", ""},
		{"few, and then none", collection.Evidence{Pages: 1, Before: 19, By: "x", End: end}, "", "", ""},
		{"half, where less is expected", collection.Evidence{Pages: 1, Records: 9, Before: 10, Expect: collection.Expectation{Drops: true, Drop: 5}, End: end}, "", "", collection.FarFewer},
		{"as few as may be", collection.Evidence{Pages: 1, Records: 9, Before: 10, Expect: collection.Expectation{Drops: true, Drop: 10}, End: end}, "", "", ""},
		{"any drop", collection.Evidence{Pages: 1, Records: 1, Before: 60, Expect: collection.Expectation{AnyDrop: true}, End: end}, "", "", ""},
		{"none, which is fine", collection.Evidence{Pages: 1, Before: 60, By: "x", Expect: collection.Expectation{Zero: collection.ZeroIsFine}, End: end}, "", "", ""},
		{"none, which is an error", collection.Evidence{Pages: 1, Before: 1, By: "x", Expect: collection.Expectation{Zero: collection.ZeroIsError}, End: end}, "the list has no records, the walk before had 1", "", ""},
		{"none, and none before", collection.Evidence{Pages: 1, By: "x", Expect: collection.Expectation{Zero: collection.ZeroIsError}, End: end}, "", "", ""},
		{"fewer than expected", collection.Evidence{Pages: 1, Records: 4, Expect: collection.Expectation{Least: 5}, End: end}, "the list has 4 of at least 5 records", "", ""},
		{"as many as expected", collection.Evidence{Pages: 1, Records: 5, Expect: collection.Expectation{Least: 5}, End: end}, "", "", ""},
		{"six hundred less, and exactly a thousand", collection.Evidence{Pages: 10, Records: 1000, Before: 1600, End: end}, "", "", collection.MaybeOnePage},
		{"six hundred less, and not quite a thousand", collection.Evidence{Pages: 10, Records: 1001, Before: 1601, End: end}, "", "", ""},
		{"the same on one page", collection.Evidence{Pages: 1, Records: 1000, Before: 1600, End: end}, "", "", collection.MaybeOnePage},
		{"the same, which the provider's total says", collection.Evidence{Pages: 10, Records: 1000, Before: 1600, By: "x", First: 1000, Total: 1000, End: end}, "", "", ""},
		{"the same, by a total of pages", collection.Evidence{Pages: 10, Records: 1000, Before: 1600, By: "x", InPages: true, First: 10, Total: 10, End: end}, "", "", collection.MaybeOnePage},
		{"the same, with a page that is owed", collection.Evidence{Pages: 10, Records: 1000, Before: 1600, Holes: 1, End: end}, "", "", ""},
		{"the same, where any drop is fine", collection.Evidence{Pages: 10, Records: 1000, Before: 1600, Expect: collection.Expectation{AnyDrop: true}, End: end}, "", "", ""},
		{"the same of what is new", collection.Evidence{Pages: 10, Records: 1000, Before: 1600, Partial: true, End: end}, "", "", ""},
		{"newest first, until it was known", collection.Evidence{Pages: 10, Records: 1000, Before: 1600, End: collection.EndKnown}, "", "", ""},
		{"a thousand again", collection.Evidence{Pages: 10, Records: 1000, Before: 1000, End: end}, "", "", ""},
		{"a few less, by chance a thousand", collection.Evidence{Pages: 10, Records: 1000, Before: 1010, End: end}, "", "", ""},
		{"less, and 2,500", collection.Evidence{Pages: 10, Records: 2500, Before: 2600, End: end}, "", "", collection.MaybeOnePage},
		{"less, and a multiple of a hundred that is no bound", collection.Evidence{Pages: 10, Records: 1100, Before: 1600, End: end}, "", "", ""},
		{"a first walk of ten thousand", collection.Evidence{Pages: 100, Records: 10000, End: end}, "", "", collection.MaybeOnePage},
		{"grown to a thousand", collection.Evidence{Pages: 10, Records: 1000, Before: 980, End: end}, "", "", collection.MaybeOnePage},
		{"grown to a hundred", collection.Evidence{Pages: 5, Records: 100, Before: 80, End: end}, "", "", ""},
		{"a first walk of a thousand, and a total", collection.Evidence{Pages: 10, Records: 1000, By: "x", First: 1000, Total: 1000, End: end}, "", "", ""},
		{"few that are new", collection.Evidence{Pages: 1, Records: 4, Partial: true, Expect: collection.Expectation{Least: 5}, End: end}, "", "", ""},
		{"a few records that moved", collection.Evidence{Pages: 3, Records: 300, Again: 9, Replaced: 9, End: collection.EndMark}, "", "", ""},
	}
	for _, test := range tests {
		against, doubt, warning := test.e.Contradiction(), test.e.Doubt(), collection.WarningCode("")
		for _, w := range test.e.Warnings() {
			warning += w.Code
		}
		if !strings.HasPrefix(against, test.against) || test.against == "" && against != "" || doubt != test.doubt || warning != test.warning {
			t.Errorf("%s: %q, %q, %q; want %q, %q, %q", test.name, against, doubt, warning, test.against, test.doubt, test.warning)
		}
	}
}

// TestChanged: that a list changed while it was read is said where that is what contradicts, and nothing else.
func TestChanged(t *testing.T) {
	const end = collection.EndEmpty
	for _, test := range []struct {
		name string
		e    collection.Evidence
		want bool
	}{
		{"the total fell", collection.Evidence{Pages: 2, Records: 12, Fell: 1, By: "x", First: 12, Total: 11, Counted: true, End: end}, true},
		{"the total fell, and less came than it said", collection.Evidence{Pages: 2, Records: 10, Fell: 1, By: "x", First: 12, Total: 11, End: end}, true},
		{"one page does not begin where it should", collection.Evidence{Pages: 4, Records: 40, Seams: 3, Torn: 1, End: end}, true},
		{"no page begins where it should", collection.Evidence{Pages: 3, Records: 30, Seams: 2, Torn: 2, End: end}, false},
		{"the total rose by less than is missing", collection.Evidence{Pages: 3, Records: 30, By: "x", First: 25_000, Total: 25_003, End: end}, false},
		{"less came than the total", collection.Evidence{Pages: 2, Records: 10, By: "x", First: 12, Total: 12, End: end}, false},
		{"less than expected, and one was updated", collection.Evidence{Pages: 2, Records: 4, Again: 1, Replaced: 1, Later: 1, Expect: collection.Expectation{Least: 5}, End: end}, false},
		{"cut off, and the total rose", collection.Evidence{Pages: 2, Records: 13, By: "x", First: 12, Total: 13, Cut: "it is cut", End: end}, false},
		{"the number of the page", collection.Evidence{Pages: 2, Records: 20, InPages: true, By: "x", First: 1, Total: 2, End: end}, false},
	} {
		if got := test.e.Changed(); got != test.want {
			t.Errorf("%s: changed is %t, want %t", test.name, got, test.want)
		}
	}
}

// TestADoubtThatNoWalkSettles: what a walk of numbered pages may have passed by is asked for again by a walk of the whole
// list, and not by one from a mark.
func TestADoubtThatNoWalkSettles(t *testing.T) {
	var e collection.Evidence
	done := collection.Cursor{Done: true}
	for _, step := range []struct {
		what  string
		slice collection.Slice
		doubt string
	}{
		{"page 1", collection.Slice{Next: collection.Cursor{Token: "2"}, Told: collection.Told{First: true, Counted: true}}, ""},
		{"page 2", collection.Slice{From: collection.Cursor{Token: "2"}, Next: done, Told: collection.Told{Counted: true, End: collection.EndEmpty}}, "no total"},
		{"from its mark", collection.Slice{From: done, Next: done, Told: collection.Told{First: true, Counted: true, Partial: true, End: collection.EndEmpty}}, "no total"},
		{"from its mark, again", collection.Slice{From: done, Next: done, Told: collection.Told{First: true, Counted: true, Partial: true, End: collection.EndEmpty}}, "no total"},
		{"from its mark, and nothing came", collection.Slice{From: done, Next: done, Told: collection.Told{First: true, Counted: true, Partial: true, Open: true, End: collection.EndEmpty}}, "an answer that does not say where it ends"},
		{"from its mark, once more", collection.Slice{From: done, Next: done, Told: collection.Told{First: true, Counted: true, Partial: true, End: collection.EndEmpty}}, "no total"},
		{"all of it, on one page", collection.Slice{From: done, Next: done, Told: collection.Told{First: true, Counted: true, End: collection.EndEmpty}}, ""},
		{"from its mark", collection.Slice{From: done, Next: done, Told: collection.Told{First: true, Counted: true, Partial: true, End: collection.EndEmpty}}, ""},
	} {
		step.slice.Records = []collection.Record{{Key: "a"}}
		if e = e.With(&step.slice, 1, 0, collection.Redelivered{}); e.Doubt() != step.doubt {
			t.Errorf("%s: the doubt is %q, want %q", step.what, e.Doubt(), step.doubt)
		}
	}
}
