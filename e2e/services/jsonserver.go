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
	url, npm, path string
	child          *child
}

// StartJSONServer starts json-server from npm, where scripts/services install
// put it, with a file in dir.
func StartJSONServer(npm, dir string) (*JSONServer, error) {
	j := &JSONServer{npm: npm, path: filepath.Join(dir, "desk.json")}
	if err := j.Fill(nil); err != nil {
		return nil, fmt.Errorf("json-server: %w", err)
	}
	return j, nil
}

func (j *JSONServer) URL() string { return j.url }

// Fill starts the server anew, as it reads its file at the start only. The
// address changes.
func (j *JSONServer) Fill(tickets []Ticket) error {
	if tickets == nil {
		tickets = []Ticket{}
	}
	data, err := json.Marshal(map[string][]Ticket{"tickets": tickets})
	if err != nil {
		return err
	}
	if err := j.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(j.path, data, 0o600); err != nil {
		return err
	}
	node, err := find("node")
	if err != nil {
		return err
	}
	script := filepath.Join(j.npm, "node_modules", "json-server", "lib", "cli", "bin.js")
	if _, err := os.Stat(script); err != nil {
		return fmt.Errorf("json-server %w", errMissing)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	j.child, err = spawn(io.Discard, node, script, "--host", "127.0.0.1", "--port", fmt.Sprint(port), "--quiet", j.path)
	if err != nil {
		return err
	}
	j.url = fmt.Sprintf("http://127.0.0.1:%d", port)
	if err := awaitPort(port, j.child.exited); err != nil {
		return fmt.Errorf("%w: %s", err, j.child.stderr)
	}
	return nil
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
// one piece beside its lists. Its file follows a moment later.
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
func (j *JSONServer) Close() error {
	if j.child == nil {
		return nil
	}
	return j.child.Close()
}
