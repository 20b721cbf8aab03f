//go:build unix

package registry

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// TestCommandOutput: a command has its time, whatever it starts.
func TestCommandOutput(t *testing.T) {
	late := errors.New("late")
	for _, tc := range []struct {
		line, want string
		err        error
	}{
		{"echo token", "token\n", nil},
		{"sleep 8 & echo token", "token\n", nil}, // an agent that stays, and holds the output
		{"sleep 75", "", late},
		{"sleep 75 | cat", "", late},
		{"trap '' TERM INT; sleep 75", "", late},
	} {
		t.Run(tc.line, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, late)
			defer cancel()
			start := time.Now()
			got, err := commandOutput(ctx, tc.line, io.Discard)
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("%q and %v, want %q and %v", got, err, tc.want, tc.err)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
