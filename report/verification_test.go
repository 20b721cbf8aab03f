package report_test

import (
	"testing"

	"collect/collection"
	"collect/report"
	"collect/report/problem"
)

// TestVerificationVerdict: a stream of which nothing was compared is not called equal, and what has
// vanished is a difference where the stream follows what the provider deletes.
func TestVerificationVerdict(t *testing.T) {
	unread := report.VerificationStream{Stream: "notes", Of: 4, Reason: collection.RequestCap}
	equal := report.VerificationStream{Stream: "things", Whole: true, Delivered: 3, Equal: 3}
	empty := report.VerificationStream{Stream: "empty", Whole: true}
	kept := report.VerificationStream{Stream: "kept", Whole: true, Delivered: 3, Equal: 3, Vanished: 2}
	swept := report.VerificationStream{Stream: "swept", Whole: true, Delivered: 3, Equal: 3, Vanished: 2, Follows: true}
	for _, test := range []struct {
		streams []report.VerificationStream
		want    string
		exit    int
	}{
		{[]report.VerificationStream{unread}, "nothing of acme was compared (5 requests)", problem.ExitOK},
		{[]report.VerificationStream{equal, unread}, "equal: what was compared of things of acme is what the provider has; not compared: notes (5 requests)", problem.ExitOK},
		{[]report.VerificationStream{equal, empty}, "equal: what was compared of acme is what the provider has (5 requests)", problem.ExitOK},
		{[]report.VerificationStream{kept}, "equal: what was compared of acme is what the provider has; 2 records are kept that it no longer lists (5 requests)", problem.ExitOK},
		{[]report.VerificationStream{kept, swept, unread}, "different: swept of acme is not what the provider has; 2 records are kept that it no longer lists; not compared: notes (5 requests)", problem.ExitProtocol},
	} {
		v := report.Verification{Connector: "acme", Requests: 5, Streams: test.streams}
		if got := v.Sentence(); got != test.want {
			t.Errorf("Sentence() = %q, want %q", got, test.want)
		}
		if got := v.Verdict(); got != test.exit {
			t.Errorf("%s: exit code %d, want %d", test.want, got, test.exit)
		}
	}
}
