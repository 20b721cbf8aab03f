package services

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// A CouchDB is a PouchDB Server, which speaks CouchDB's protocol; CouchDB itself is
// in none of the places that the servers come from.
type CouchDB struct {
	JSONServer // for its calls

	npm string
}

// couchDocuments at the start: three pages of changes.
const couchDocuments = 1200

// StartCouchDB starts the server from npm, where scripts/services install put it,
// with the database desk.
func StartCouchDB(npm string) (*CouchDB, error) {
	for _, part := range []string{"express-pouchdb", "pouchdb-core", "pouchdb-adapter-memory"} {
		if _, err := os.Stat(filepath.Join(npm, "node_modules", part)); err != nil {
			return nil, fmt.Errorf("%s %w", part, errMissing)
		}
	}
	server, err := startNode(filepath.Join(npm, "couchdb.mjs"))
	if err != nil {
		return nil, err
	}
	c := &CouchDB{*server, npm}
	documents := make([]map[string]any, couchDocuments)
	for i := range documents {
		documents[i] = map[string]any{"_id": fmt.Sprintf("ticket-%04d", i), "title": fmt.Sprintf("ticket %d, Łódź 東京", i)}
	}
	if err := c.call("PUT", "/bulk", documents, nil); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *CouchDB) Version() (string, error) {
	data, err := os.ReadFile(filepath.Join(c.npm, "node_modules", "express-pouchdb", "package.json"))
	if err != nil {
		return "", err
	}
	var of struct{ Version string }
	err = json.Unmarshal(data, &of)
	return "PouchDB Server " + of.Version, err
}

func (c *CouchDB) Stored() (Stored, error) {
	var all []struct{ ID, Content string }
	if err := c.call("GET", "/stored", nil, &all); err != nil {
		return nil, err
	}
	s := Stored{}
	for _, d := range all {
		if d.Content != "deleted" {
			s.put("changes", d.Content, d.ID)
		}
	}
	return s, nil
}

// Change changes a document of each page, deletes others, and adds one.
func (c *CouchDB) Change(round int) error {
	var documents []map[string]any
	for page := range 3 {
		at := 400*page + 2*round
		documents = append(documents,
			map[string]any{"_id": fmt.Sprintf("ticket-%04d", at), "title": fmt.Sprintf("changed %d", round)},
			map[string]any{"_id": fmt.Sprintf("ticket-%04d", at+1), "_deleted": true})
	}
	documents = append(documents, map[string]any{"_id": fmt.Sprintf("new-%d", round), "title": "new"})
	return c.call("PUT", "/bulk", documents, nil)
}
