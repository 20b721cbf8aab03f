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

// A JSONServer is a json-server. Its lists are plain arrays, cut by an offset
// (_start) or a page number (_page, then with a Link to the next one), with
// their total in X-Total-Count.
type JSONServer struct {
	url   string
	child *child
}

// StartJSONServer starts json-server from npm, where scripts/services install
// put it.
func StartJSONServer(npm string) (*JSONServer, error) {
	if _, err := os.Stat(filepath.Join(npm, "node_modules", "json-server")); err != nil {
		return nil, fmt.Errorf("json-server %w", errMissing)
	}
	return startNode(filepath.Join(npm, "jsonserver.mjs"))
}

// startNode starts a script of e2e that prints its URL.
func startNode(script string) (*JSONServer, error) {
	node, err := find("node")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(script); err != nil {
		return nil, fmt.Errorf("%s %w", filepath.Base(script), errMissing)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, err := spawn(w, node, script)
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(script), err)
	}
	url, err := firstLine(r)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(script), err, c.stderr)
	}
	return &JSONServer{url, c}, nil
}

func (j *JSONServer) URL() string { return j.url }

func (j *JSONServer) Fill(tickets []Ticket) error {
	if tickets == nil {
		tickets = []Ticket{}
	}
	return j.call(http.MethodPut, "/fill", tickets, nil)
}

func (j *JSONServer) Put(tickets ...Ticket) error {
	stored, err := j.Stored()
	if err != nil {
		return err
	}
	known := map[int]bool{}
	for _, t := range stored {
		known[t.ID] = true
	}
	for _, t := range tickets {
		method, path := http.MethodPost, "/tickets"
		if known[t.ID] {
			method, path = http.MethodPut, fmt.Sprintf("/tickets/%d", t.ID)
		}
		if err := j.call(method, path, t, nil); err != nil {
			return err
		}
	}
	return nil
}

func (j *JSONServer) Drop(ids ...int) error {
	for _, id := range ids {
		if err := j.call(http.MethodDelete, fmt.Sprintf("/tickets/%d", id), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Stored returns the tickets of the whole database, which json-server serves in
// one piece beside its lists.
func (j *JSONServer) Stored() ([]Ticket, error) {
	var db struct{ Tickets []Ticket }
	err := j.call(http.MethodGet, "/db", nil, &db)
	return db.Tickets, err
}

// call sends a request with a body, if any, and decodes the answer.
func (j *JSONServer) call(method, path string, body, into any) error {
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, j.url+path, sent)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
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
		return fmt.Errorf("%s %s: status %d: %s", method, path, resp.StatusCode, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

// Close ends the server.
func (j *JSONServer) Close() error { return j.child.Close() }
