package services

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A MediaWiki is MediaWiki from Debian, in the server of PHP, on SQLite.
type MediaWiki struct {
	url    string
	dir    string
	script string
	child  *child
}

//go:embed mediawiki.php
var mediawikiEdit string

// mediawikiPages at the start: more than the 500 that an answer has, and each in two
// categories, of which an answer has 500 as well.
const mediawikiPages = 520

// StartMediaWiki installs MediaWiki into dir, writes pages, and starts it.
func StartMediaWiki(dir string) (*MediaWiki, error) {
	const program = "/usr/share/mediawiki"
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("mediawiki %w", errMissing)
	}
	w := &MediaWiki{dir: dir, script: filepath.Join(dir, "edit.php")}
	if err := os.WriteFile(w.script, []byte(mediawikiEdit), 0o600); err != nil {
		return nil, err
	}
	install := exec.Command("php", program+"/maintenance/install.php", "--dbtype", "sqlite", "--dbpath", dir, "--dbname", "wiki",
		"--server", "http://127.0.0.1", "--scriptpath", "", "--confpath", dir, "--pass", "a-long-password-of-a-test", "wiki", "admin")
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mediawiki: %w: %s", err, out)
	}
	if err := w.fill(); err != nil {
		return nil, fmt.Errorf("mediawiki: %w", err)
	}
	// Its jobs, which requests would run, change nothing that is read here.
	settings, err := os.OpenFile(w.settings(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = settings.WriteString("\n$wgJobRunRate = 0;\n")
	if err := errors.Join(err, settings.Close()); err != nil {
		return nil, err
	}
	w.child, err = spawnEnv([]string{"MW_CONFIG_FILE=" + w.settings()}, io.Discard, "php", "-S", "127.0.0.1:0", "-t", program)
	if err != nil {
		return nil, err
	}
	w.url, err = awaitURL(w.child)
	return w, err
}

func (w *MediaWiki) settings() string { return filepath.Join(w.dir, "LocalSettings.php") }

// An edit writes a page, or deletes it if it has no text.
type edit struct {
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

func (w *MediaWiki) fill() error {
	edits := make([]edit, mediawikiPages)
	for i := range edits {
		edits[i] = edit{fmt.Sprintf("Page %d", i), fmt.Sprintf("text %d [[Category:All]] [[Category:Of %d]]", i, i%7)}
	}
	return w.edit(edits...)
}

func (w *MediaWiki) edit(edits ...edit) error {
	in, err := json.Marshal(edits)
	if err != nil {
		return err
	}
	c := exec.Command("php", w.script, "--conf", w.settings())
	c.Stdin = bytes.NewReader(in)
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		return fmt.Errorf("editing: %w: %s", err, out)
	}
	// The categories of a page are written by a job.
	jobs := exec.Command("php", "/usr/share/mediawiki/maintenance/runJobs.php", "--conf", w.settings(), "--quiet")
	if out, err := jobs.CombinedOutput(); err != nil {
		return fmt.Errorf("running jobs: %w: %s", err, out)
	}
	return nil
}

func (w *MediaWiki) URL() string { return w.url }

func (w *MediaWiki) Version() (string, error) {
	src, err := os.ReadFile("/usr/share/mediawiki/includes/Defines.php")
	_, version, _ := strings.Cut(string(src), "define( 'MW_VERSION', '")
	version, _, _ = strings.Cut(version, "'")
	return "MediaWiki " + version, err
}

func (w *MediaWiki) Stored() (Stored, error) {
	return storedIn(filepath.Join(w.dir, "wiki.sqlite"), map[string]string{
		"pages": "SELECT page_id, replace(page_title, '_', ' ') FROM page WHERE page_namespace = 0",
		"categories": `SELECT page_id, page_latest || coalesce((SELECT group_concat(cl_to) FROM (
			SELECT replace(cl_to, '_', ' ') AS cl_to FROM categorylinks WHERE cl_from = page_id ORDER BY cl_to)), '') FROM page WHERE page_namespace = 0`,
		"revisions": "SELECT rev_id, replace(page_title, '_', ' ') || rev_sha1 FROM revision JOIN page ON page_id = rev_page WHERE page_namespace = 0",
	})
}

// Change edits pages of both answers, deletes some of both, and adds one.
func (w *MediaWiki) Change(round int) error {
	return w.edit(
		edit{fmt.Sprintf("Page %d", 10+round), fmt.Sprintf("changed %d [[Category:Changed]]", round)},
		edit{fmt.Sprintf("Page %d", 500+round), fmt.Sprintf("changed %d", round)},
		edit{Title: fmt.Sprintf("Page %d", 100+round)},
		edit{Title: fmt.Sprintf("Page %d", 510+round)},
		edit{fmt.Sprintf("New %d", round), "new [[Category:All]]"})
}

// Close ends the server.
func (w *MediaWiki) Close() error { return w.child.Close() }
