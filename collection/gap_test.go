package collection_test

import (
	"slices"
	"testing"

	"collect/collection"
)

// What follows from each reason stands in one table.
func TestReasons(t *testing.T) {
	for name, want := range map[string]struct {
		is  func(collection.Reason) bool
		all []collection.Reason
	}{
		"refuse the account": {collection.Reason.RefusesAccount, []collection.Reason{collection.Auth, collection.Frozen, collection.Suspended}},
		"freeze":             {collection.Reason.Freezes, []collection.Reason{collection.Frozen, collection.Suspended}},
		"are of a page":      {collection.Reason.OfPage, []collection.Reason{collection.SchemaDrift, collection.BadPage, collection.TooLarge}},
		"are withheld":       {collection.Reason.Withheld, []collection.Reason{collection.Forbidden, collection.NotFound, collection.Gone}},
		"are settled":        {collection.Reason.Settled, []collection.Reason{collection.Gone}},
		"are permanent":      {collection.Reason.Permanent, []collection.Reason{collection.Forbidden, collection.TooLarge, collection.NotFound, collection.Gone}},
	} {
		got := slices.DeleteFunc(collection.Reasons(), func(r collection.Reason) bool { return !want.is(r) })
		if !slices.Equal(got, want.all) {
			t.Errorf("reasons that %s = %v, want %v", name, got, want.all)
		}
		if want.is("of_a_later_version") {
			t.Errorf("an unknown reason is one that %s", name)
		}
	}
}
