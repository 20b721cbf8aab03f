package services

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Gitea is a Gitea with the organization acme, on SQLite.
type Gitea struct {
	url     string
	dir     string
	token   string
	program string
	child   *child
}

const giteaConfig = `RUN_MODE = prod
WORK_PATH = {dir}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = {url}
STATIC_ROOT_PATH = {static}
OFFLINE_MODE = true
DISABLE_SSH = true
[database]
DB_TYPE = sqlite3
PATH = {dir}/gitea.db
[security]
INSTALL_LOCK = true
[log]
MODE = file
LEVEL = Error
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
[session]
PROVIDER = memory
`

// Issues and comments of the repository api at the start, of which an answer has 50.
const (
	giteaIssues   = 130
	giteaComments = 70
)

// StartGitea starts Gitea from the folder that scripts/services install filled,
// and has it keep everything in dir.
func StartGitea(from, dir string) (*Gitea, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return nil, err
	}
	g := &Gitea{dir: dir, program: filepath.Join(from, "gitea")}
	if _, err := os.Stat(g.program); err != nil {
		return nil, fmt.Errorf("gitea %w", errMissing)
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	g.url = fmt.Sprintf("http://127.0.0.1:%d", port)
	config := strings.NewReplacer("{dir}", dir, "{port}", fmt.Sprint(port), "{url}", g.url, "{static}", from).Replace(giteaConfig)
	if err := os.WriteFile(g.config(), []byte(config), 0o600); err != nil {
		return nil, err
	}
	for _, args := range []string{
		"migrate",
		"admin user create --admin --username ann --password unused-but-long --email ann@example.test --must-change-password=false",
		"admin user generate-access-token --username ann --token-name e2e --scopes all --raw",
	} {
		c := exec.Command(g.program, append([]string{"--config", g.config()}, strings.Fields(args)...)...)
		c.Env = append(os.Environ(), unsafeRoot)
		out, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("gitea %s: %w: %s", args, err, out)
		}
		lines := strings.Fields(string(out)) // the last command ends with the token, behind what it logs
		if len(lines) > 0 {
			g.token = lines[len(lines)-1]
		}
	}
	if g.child, err = spawnEnv([]string{unsafeRoot}, io.Discard, g.program, "--config", g.config(), "web"); err != nil {
		return nil, err
	}
	if err := awaitPort(port, g.child.exited); err != nil {
		return nil, errors.Join(fmt.Errorf("gitea: %w: %s", err, g.child.stderr), g.Close())
	}
	if err := g.fill(); err != nil {
		return nil, errors.Join(fmt.Errorf("gitea: %w", err), g.Close())
	}
	return g, nil
}

// unsafeRoot lets Gitea run as root, which it refuses unless told.
const unsafeRoot = "GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT=true"

func (g *Gitea) config() string { return filepath.Join(g.dir, "app.ini") }

func (g *Gitea) fill() error {
	err := g.call(http.MethodPost, "/orgs", map[string]any{"username": "acme"}, nil)
	for _, repo := range []string{"api", "site"} {
		err = errors.Join(err, g.call(http.MethodPost, "/orgs/acme/repos", map[string]any{"name": repo}, nil), g.issue(repo, "first"))
	}
	for i := range giteaIssues {
		err = errors.Join(err, g.issue("api", fmt.Sprintf("issue %d", i)))
	}
	for i := range giteaComments {
		err = errors.Join(err, g.comment("api", 1+i%5, fmt.Sprintf("comment %d", i)))
	}
	return err
}

func (g *Gitea) issue(repo, title string) error {
	return g.call(http.MethodPost, "/repos/acme/"+repo+"/issues", map[string]any{"title": title}, nil)
}

func (g *Gitea) comment(repo string, issue int, text string) error {
	return g.call(http.MethodPost, fmt.Sprintf("/repos/acme/%s/issues/%d/comments", repo, issue), map[string]any{"body": text}, nil)
}

func (g *Gitea) URL() string { return g.url }

// Env is the token of a user who may read everything.
func (g *Gitea) Env() []string { return []string{"GITEA_TOKEN=" + g.token} }

func (g *Gitea) Version() (string, error) {
	var is struct{ Version string }
	err := g.call(http.MethodGet, "/version", nil, &is)
	return "Gitea " + is.Version, err
}

func (g *Gitea) Stored() (Stored, error) {
	return storedIn(filepath.Join(g.dir, "gitea.db"), map[string]string{
		"repos":    "SELECT id, name FROM repository",
		"issues":   "SELECT id, name || ' ' || CASE is_closed WHEN 1 THEN 'closed' ELSE 'open' END FROM issue",
		"comments": "SELECT id, content FROM comment WHERE type = 0",
	})
}

// Change renames, closes, deletes and adds issues, edits and deletes comments, and
// adds a repository.
func (g *Gitea) Change(round int) error {
	at := func(n int) string { return fmt.Sprintf("/repos/acme/api/issues/%d", n+round) }
	stored, err := g.Stored()
	if err != nil {
		return err
	}
	comment := func(text string) string { // its path
		for id, content := range stored["comments"] {
			if content == text {
				return "/repos/acme/api/issues/comments/" + id
			}
		}
		return "/no/such/comment"
	}
	repo := fmt.Sprintf("new-%d", round)
	return errors.Join(
		g.call(http.MethodPatch, at(10), map[string]any{"title": "changed"}, nil),
		g.call(http.MethodPatch, at(60), map[string]any{"state": "closed"}, nil),
		g.call(http.MethodDelete, at(20), nil, nil),
		g.call(http.MethodDelete, at(120), nil, nil),
		g.issue("api", "new"),
		g.call(http.MethodPatch, comment(fmt.Sprintf("comment %d", 10+round)), map[string]any{"body": "changed"}, nil),
		g.call(http.MethodDelete, comment(fmt.Sprintf("comment %d", 50+round)), nil, nil),
		g.comment("api", 2, "new"),
		g.call(http.MethodPost, "/orgs/acme/repos", map[string]any{"name": repo}, nil),
		g.issue(repo, "of a new repository"))
}

// call sends a request of the API and decodes the answer.
func (g *Gitea) call(method, path string, body, into any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, g.url+"/api/v1"+path, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "token "+g.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

// Close ends Gitea.
func (g *Gitea) Close() error { return g.child.Close() }
