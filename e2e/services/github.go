package services

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// A GitHub serves answers of the GitHub API that were once recorded
// (@octokit/fixtures). It insists on the recorded requests, in their order,
// with their headers; a scenario is served once.
type GitHub struct {
	URL string

	dir   string
	child *child
}

// What the recorded requests carried.
const (
	GitHubToken  = "0000000000000000000000000000000000000001"
	GitHubAccept = "application/vnd.github.v3+json"
)

// StartGitHub starts the server from dir, where scripts/services install put
// it.
func StartGitHub(dir string) (*GitHub, error) {
	node, err := find("node")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "fixtures.mjs")
	for _, path := range []string{script, filepath.Join(dir, "node_modules", "@octokit", "fixtures-server")} {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s %w", filepath.Base(path), errMissing)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, err := spawn(w, node, script)
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	url, err := firstLine(r)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("github: %w: %s", err, c.stderr)
	}
	return &GitHub{URL: url, dir: dir, child: c}, nil
}

// Load prepares a scenario, such as paginate-issues, and returns the URL that
// stands for https://api.github.com in it.
func (g *GitHub) Load(scenario string) (url string, err error) {
	body, err := json.Marshal(map[string]string{"scenario": scenario})
	if err != nil {
		return "", err
	}
	resp, err := http.Post(g.URL+"/fixtures", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("github: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("github: %w", err)
	}
	if resp.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("github: scenario %s: status %d", scenario, resp.StatusCode)
	}
	var loaded struct{ URL string }
	if err := json.Unmarshal(data, &loaded); err != nil {
		return "", fmt.Errorf("github: %w", err)
	}
	return loaded.URL, nil
}

// Recorded returns the elements of all answers of a scenario that are lists,
// as they were recorded.
func (g *GitHub) Recorded(scenario string) ([]json.RawMessage, error) {
	path := filepath.Join(g.dir, "node_modules", "@octokit", "fixtures", "scenarios", "api.github.com",
		scenario, "normalized-fixture.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var answers []struct{ Response json.RawMessage }
	if err := json.Unmarshal(data, &answers); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", scenario, err)
	}
	var records []json.RawMessage
	for _, a := range answers {
		var list []json.RawMessage
		if json.Unmarshal(a.Response, &list) == nil {
			records = append(records, list...)
		}
	}
	return records, nil
}

// Close ends the server.
func (g *GitHub) Close() error { return g.child.Close() }
