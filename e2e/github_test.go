package e2e_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"collect/e2e/services"
)

// Recorded answers of the GitHub API are followed along their Link headers,
// and kept byte for byte.
func TestGitHub(t *testing.T) {
	github, err := services.StartGitHub("../.cache/npm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { github.Close() })
	const scenario = "paginate-issues"
	url, err := github.Load(scenario)
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t, "github", "GITHUB_TOKEN="+services.GitHubToken)
	u.collect(t, "run", "--param", "url="+url).wantCode(t, 0)

	recorded, err := github.Recorded(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if len(recorded) != 13 {
		t.Fatalf("%d issues were recorded, want 13", len(recorded))
	}
	// The server puts its own address in front of every URL: for
	// https://api.github.com/user it says http://127.0.0.1:n/api.github.com/id/user.
	host := regexp.MustCompile(`https?://([^/"]+)/`)
	base := regexp.MustCompile(`^(.*)/api\.github\.com/(.*)$`).FindStringSubmatch(url)
	var want []json.RawMessage
	for _, r := range recorded {
		var line bytes.Buffer
		if err := json.Compact(&line, r); err != nil {
			t.Fatal(err)
		}
		want = append(want, host.ReplaceAll(line.Bytes(), []byte(base[1]+"/$1/"+base[2]+"/")))
	}
	u.wantRecords(t, "issues", want)
}
