package services

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// A WordPressShelf is a WordPress as the catalogue reads it, five hours west: times
// that the API compares are in the zone of the site.
type WordPressShelf struct{ *WordPress }

// What is published at the start, in pages of 100.
const (
	wordpressPosts = 350
	wordpressOther = 120 // of each other kind
)

// StartWordPressShelf installs WordPress into dir, with something of each kind.
func StartWordPressShelf(dir string) (*WordPressShelf, error) {
	w, err := StartWordPress(dir)
	if err != nil {
		return nil, err
	}
	s := &WordPressShelf{w}
	if err := errors.Join(w.Zone(-5), s.publish()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return s, nil
}

var wordpressVersion = regexp.MustCompile(`\$wp_version = '([0-9.]+)'`)

func (w *WordPressShelf) Version() (string, error) {
	src, err := os.ReadFile("/usr/share/wordpress/wp-includes/version.php")
	if err != nil {
		return "", err
	}
	found := wordpressVersion.FindSubmatch(src)
	if found == nil {
		return "", errors.New("wordpress: no version in version.php")
	}
	return "WordPress " + string(found[1]), nil
}

// publish fills the tables: posts, pages and attachments with IDs in no order of
// their times, comments, and both kinds of terms.
func (w *WordPressShelf) publish() error {
	long := time.Now().Add(-48 * time.Hour)
	var b strings.Builder
	b.WriteString("START TRANSACTION;\n")
	for i := range wordpressPosts {
		w.post(&b, 1000+i*97%359, "post", fmt.Sprintf("post %d", i), long)
	}
	for i := range wordpressOther {
		w.post(&b, 2000+i, "page", fmt.Sprintf("page %d", i), long)
		w.post(&b, 3000+i, "attachment", fmt.Sprintf("picture %d", i), long)
		w.comment(&b, 100+i, fmt.Sprintf("comment %d", i))
		w.term(&b, 100+i, "category", fmt.Sprintf("category %d", i))
		w.term(&b, 400+i, "post_tag", fmt.Sprintf("tag %d", i))
	}
	// The API counts these two, and shows them to none but the author.
	w.post(&b, 4000, "post", "a draft", long)
	w.post(&b, 4001, "attachment", "picture of a draft", long)
	w.comment(&b, 800, "comment on a draft")
	b.WriteString(`UPDATE wordpress.wp_posts SET post_status = 'draft' WHERE ID = 4000;
		UPDATE wordpress.wp_posts SET post_parent = 4000 WHERE ID = 4001;
		UPDATE wordpress.wp_comments SET comment_post_ID = 4000 WHERE comment_ID = 800;
		COMMIT;`)
	return w.sql(b.String(), nil)
}

func (w *WordPressShelf) post(b *strings.Builder, id int, kind, title string, at time.Time) {
	status := "publish"
	if kind == "attachment" {
		status = "inherit"
	}
	utc := at.UTC()
	fmt.Fprintf(b, `REPLACE INTO wordpress.wp_posts (ID, post_author, post_date, post_date_gmt, post_modified, post_modified_gmt,
		post_title, post_name, post_content, post_excerpt, to_ping, pinged, post_content_filtered, post_type, post_status, post_mime_type)
		VALUES (%d, 1, '%[2]s', '%[3]s', '%[2]s', '%[3]s', '%s', '%s-%[1]d', '', '', '', '', '', '%[5]s', '%s', '');`+"\n",
		id, utc.Add(w.offset).Format(time.DateTime), utc.Format(time.DateTime), title, kind, status)
}

func (w *WordPressShelf) comment(b *strings.Builder, id int, text string) {
	fmt.Fprintf(b, `REPLACE INTO wordpress.wp_comments (comment_ID, comment_post_ID, comment_author, comment_date, comment_date_gmt, comment_content, comment_approved)
		VALUES (%d, 1000, 'reader', '2025-01-01', '2025-01-01', '%s', '1');`+"\n", id, text)
}

func (w *WordPressShelf) term(b *strings.Builder, id int, kind, name string) {
	fmt.Fprintf(b, `REPLACE INTO wordpress.wp_terms (term_id, name, slug) VALUES (%d, '%s', '%s-%[1]d');
		REPLACE INTO wordpress.wp_term_taxonomy (term_taxonomy_id, term_id, taxonomy, description) VALUES (%[1]d, %[1]d, '%[3]s', '');`+"\n", id, name, kind)
}

func (w *WordPressShelf) Stored() (Stored, error) {
	s := Stored{}
	for stream, query := range map[string]string{
		"posts":      "SELECT ID, post_title FROM wordpress.wp_posts WHERE post_type = 'post' AND post_status = 'publish'",
		"pages":      "SELECT ID, post_title FROM wordpress.wp_posts WHERE post_type = 'page' AND post_status = 'publish'",
		"media":      "SELECT ID, post_title FROM wordpress.wp_posts WHERE post_type = 'attachment' AND post_status = 'inherit' AND post_parent = 0",
		"comments":   "SELECT comment_ID, CONCAT('<p>', comment_content, '</p>') FROM wordpress.wp_comments WHERE comment_approved = '1' AND comment_post_ID = 1000",
		"categories": "SELECT term_id, name FROM wordpress.wp_terms NATURAL JOIN wordpress.wp_term_taxonomy WHERE taxonomy = 'category'",
		"tags":       "SELECT term_id, name FROM wordpress.wp_terms NATURAL JOIN wordpress.wp_term_taxonomy WHERE taxonomy = 'post_tag'",
	} {
		var out bytes.Buffer
		if err := w.sql(query, &out); err != nil {
			return nil, err
		}
		for line := range strings.Lines(out.String()) {
			id, content, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			s.put(stream, content, id)
		}
	}
	return s, nil
}

// Change edits, trashes and adds posts, and some of all other kinds.
func (w *WordPressShelf) Change(round int) error {
	now := time.Now()
	var b strings.Builder
	b.WriteString("START TRANSACTION;\n")
	w.post(&b, 1000+round, "post", fmt.Sprintf("post changed %d", round), now)
	w.post(&b, 1300+round, "post", fmt.Sprintf("post changed %d", round), now)
	w.post(&b, 5000+round, "post", "post new", now)
	w.post(&b, 2010+round, "page", "page changed", now)
	w.post(&b, 3010+round, "attachment", "picture changed", now)
	w.comment(&b, 110+round, "comment changed")
	w.comment(&b, 600+round, "comment new")
	w.term(&b, 110+round, "category", "category changed")
	w.term(&b, 600+round, "post_tag", "tag new")
	fmt.Fprintf(&b, "UPDATE wordpress.wp_posts SET post_status = 'trash' WHERE ID IN (%d, %d);\n", 1010+round, 2020+round)
	fmt.Fprintf(&b, "UPDATE wordpress.wp_comments SET comment_approved = 'trash' WHERE comment_ID = %d;\n", 120+round)
	fmt.Fprintf(&b, "DELETE FROM wordpress.wp_term_taxonomy WHERE term_id = %d;\n", 420+round)
	b.WriteString("COMMIT;")
	return w.sql(b.String(), nil)
}
