package yamlfile_test

import (
	"strings"
	"testing"

	"collect/internal/yamlfile"
)

// TestExcerptHidesCredentials: what was written into a file by mistake is not
// shown, wherever it stands on its line; what is only named is.
func TestExcerptHidesCredentials(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"password: hunter2", "password: …"},
		{"secrets: {token: {env: ACME}, password: hunter2}", "secrets: {token: {env: ACME}, password: …"},
		{"auth: {user: \"${secrets.user}\", password: hunter2}", "auth: {user: \"${secrets.user}\", password: …"},
		{"token_env: hunter2", "token_env: …"},
		{"'API_KEY': hunter2", "'API_KEY': …"},
		{"auth: {bearer: \"${secrets.token}\"}", "auth: {bearer: \"${secrets.token}\"}"},
		{"token_url: https://acme.test/token", "token_url: https://acme.test/token"},
		{"secrets: # of acme", "secrets: # of acme"},
		{"secrets:", "secrets:"},
	} {
		fault := yamlfile.Fault{At: yamlfile.Span{Line: 1, Column: 1, Length: 1}}
		got, _, _ := strings.Cut(fault.Excerpt([]byte(tc.line)), "\n")
		if got != "1 | "+tc.want {
			t.Errorf("%s: %q, want %q", tc.line, got, tc.want)
		}
	}
}
