package main

import (
	"bufio"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// rows returns the numbers of the records of a work that a tool left.
func (r *race) rows(t tool, w work, out string) (map[int]bool, error) {
	have := map[int]bool{}
	if t.name == "collect" {
		c := exec.Command(r.collect, "export", "race/collect/"+w.file, w.stream, "--state", out+"/s.db")
		pipe, err := c.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := c.Start(); err != nil {
			return nil, err
		}
		scan(pipe, "", w.stream, have)
		_ = c.Wait() // a stream of which nothing was collected cannot be exported
		return have, nil
	}
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		scan(f, filepath.Base(filepath.Dir(path)), w.stream, have)
		return nil
	})
	return have, err
}

// scan adds the numbers of the records of stream among the JSON lines of text. A folder
// that has the name of a stream, as dlt makes them, holds records of that one.
func scan(text io.Reader, folder, stream string, have map[int]bool) {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			Type, Stream string
			ID           *int
			Record       struct{ ID *int }
			Detail       *struct{ ID *int }
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue // the half of a line
		}
		id := line.ID
		switch {
		case line.Type == "RECORD":
			id = line.Record.ID
		case line.Type != "", strings.HasPrefix(folder, "_dlt"):
			continue
		case line.Detail != nil && stream == "details":
			id = line.Detail.ID
		case stream == "details" && line.Stream == "" && folder != "details" && folder != "":
			continue
		}
		if id != nil && (line.Stream == "" || line.Stream == stream) {
			have[*id] = true
		}
	}
}
