package e2e_test

import (
	"testing"

	"collect/e2e/services"
)

// A run gets everything through an nginx that refuses what is too fast, with
// 503 or 429, an HTML body and no Retry-After.
func TestNginx(t *testing.T) {
	pb := startPocketBase(t, false)
	nginx, err := services.StartNginx(t.TempDir(), pb.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nginx.Close() })
	for door, refusal := range map[string]int{nginx.URL503: 503, nginx.URL429: 429} {
		u := pocketUser(t, pb)
		r := u.collect(t, "run", pocketArgs(door)...)
		r.wantCode(t, 0)
		statuses, err := nginx.Statuses(door)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d: %v, answers %v", refusal, r.took, statuses)
		if statuses[refusal] == 0 {
			t.Errorf("answers = %v: nginx refused nothing, and this proves nothing", statuses)
		}
		u.wantRecords(t, "records", records(t, pb))
	}
}
