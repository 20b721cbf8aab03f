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
	"time"
)

// A WordPress is WordPress from Debian, in the server of PHP, on a MariaDB of
// its own. Its tickets are published posts: modified_gmt says when one changed,
// in seconds and without a zone. Its lists are pages by number, with a Link to
// the next one, and their totals in X-WP-Total and X-WP-TotalPages.
type WordPress struct {
	url    string
	socket string
	offset time.Duration // of the zone of the site
	maria  *child
	php    *child
}

//go:embed wordpress.php
var wordpressConfig string

// StartWordPress installs WordPress into dir, without posts, and starts it.
func StartWordPress(dir string) (*WordPress, error) {
	if _, err := os.Stat("/usr/share/wordpress/wp-settings.php"); err != nil {
		return nil, fmt.Errorf("wordpress %w", errMissing)
	}
	w := &WordPress{socket: filepath.Join(dir, "maria.sock")}
	for _, step := range []func(string) error{w.startMaria, w.install, w.startPHP} {
		if err := step(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("wordpress: %w", err), w.Close())
		}
	}
	return w, nil
}

// startMaria makes a database in dir and serves it on a socket.
func (w *WordPress) startMaria(dir string) error {
	user := "--user=" + os.Getenv("USER")
	if os.Getuid() == 0 {
		user = "--user=root" // it refuses to run as root unless told
	}
	data := filepath.Join(dir, "maria")
	install := exec.Command("mariadb-install-db", "--no-defaults", user, "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=4M")
	if out, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	program, err := find("mariadbd")
	if err != nil {
		return err
	}
	w.maria, err = spawn(io.Discard, program, "--no-defaults", user, "--datadir="+data, "--socket="+w.socket,
		"--pid-file="+filepath.Join(dir, "maria.pid"), "--skip-networking", "--skip-name-resolve",
		"--innodb-log-file-size=4M", "--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0")
	if err != nil {
		return err
	}
	for range 500 { // 10 s: a start on a busy machine
		if err = w.sql("CREATE DATABASE wordpress CHARACTER SET utf8mb4", nil); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("%w: %s", err, w.maria.stderr)
}

// install makes the tables of WordPress.
func (w *WordPress) install(dir string) error {
	php, err := find("php")
	if err != nil {
		return err
	}
	for _, folder := range []string{"themes", "plugins"} {
		if err := os.MkdirAll(filepath.Join(dir, "content", folder), 0o700); err != nil {
			return err
		}
	}
	script := filepath.Join(dir, "wordpress.php")
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(wordpressConfig, "{dir}", dir)), 0o600); err != nil {
		return err
	}
	if out, err := exec.Command(php, script).CombinedOutput(); err != nil || len(out) > 0 {
		return fmt.Errorf("installing: %w: %s", err, out)
	}
	return w.Fill(nil)
}

// startPHP answers on a free port.
func (w *WordPress) startPHP(dir string) error {
	php, err := find("php")
	if err != nil {
		return err
	}
	w.php, err = spawn(io.Discard, php, "-d", "opcache.enable_cli=1", "-S", "127.0.0.1:0", filepath.Join(dir, "wordpress.php"))
	if err != nil {
		return err
	}
	w.url, err = awaitURL(w.php)
	return err
}

// sql runs statements and writes to out what they return.
func (w *WordPress) sql(statements string, out io.Writer) error {
	program, err := find("mariadb")
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	c := exec.Command(program, "--no-defaults", "--socket="+w.socket, "--user=root", "--default-character-set=utf8mb4",
		"--batch", "--raw", "--skip-column-names")
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(statements), out, &stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return nil
}

func (w *WordPress) URL() string { return w.url }

// Zone sets the zone of the site, in hours east of Greenwich: that of `modified`,
// and of the times that `modified_after` is compared with. Fill it then.
func (w *WordPress) Zone(hours int) error {
	w.offset = time.Duration(hours) * time.Hour
	return w.sql(fmt.Sprintf("UPDATE wordpress.wp_options SET option_value = '%d' WHERE option_name = 'gmt_offset'", hours), nil)
}

func (w *WordPress) Fill(tickets []Ticket) error {
	if err := w.sql("DELETE FROM wordpress.wp_posts", nil); err != nil || len(tickets) == 0 {
		return err
	}
	return w.Put(tickets...)
}

func (w *WordPress) Put(tickets ...Ticket) error {
	var b strings.Builder
	b.WriteString("SET sql_mode='NO_BACKSLASH_ESCAPES'; START TRANSACTION;\n")
	for _, t := range tickets {
		written := time.Date(2025, 1, 1, 0, t.ID, 0, 0, time.UTC).Format(time.DateTime)
		at, err := time.Parse(time.RFC3339, t.Updated)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, `REPLACE INTO wordpress.wp_posts (ID, post_author, post_date, post_date_gmt, post_modified, post_modified_gmt,
			post_title, post_name, post_content, post_excerpt, to_ping, pinged, post_content_filtered, post_type, post_status)
			VALUES (%d, 1, '%s', '%s', '%s', '%s', '%s', 'ticket-%d', '', '', '', '', '', 'post', 'publish');`+"\n",
			t.ID, written, written, at.Add(w.offset).Format(time.DateTime), at.Format(time.DateTime), strings.ReplaceAll(t.Title, "'", "''"), t.ID)
	}
	b.WriteString("COMMIT;")
	return w.sql(b.String(), nil)
}

// Drop puts posts into the trash, as the button of the editor does.
func (w *WordPress) Drop(ids ...int) error {
	return w.sql("UPDATE wordpress.wp_posts SET post_status = 'trash' WHERE ID IN ("+list(ids)+")", nil)
}

func (w *WordPress) Stored() ([]Ticket, error) {
	var out bytes.Buffer
	err := w.sql(`SELECT JSON_OBJECT('id', ID, 'title', post_title, 'updated', DATE_FORMAT(post_modified_gmt, '%Y-%m-%dT%H:%i:%sZ'))
		FROM wordpress.wp_posts WHERE post_type = 'post' AND post_status = 'publish'`, &out)
	if err != nil {
		return nil, err
	}
	var tickets []Ticket
	for line := range bytes.Lines(out.Bytes()) {
		var t Ticket
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, err
		}
		tickets = append(tickets, t)
	}
	return tickets, nil
}

// list writes IDs with commas between them.
func list(ids []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
}

// Close ends PHP, then the database.
func (w *WordPress) Close() error {
	for _, c := range []*child{w.php, w.maria} {
		if c != nil {
			c.Close()
		}
	}
	return nil
}
