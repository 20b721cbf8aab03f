package services

import (
	"os/exec"
	"strings"
)

// A PocketShelf is a PocketBase as the catalogue reads it.
type PocketShelf struct{ *PocketBase }

func (p PocketShelf) URL() string { return p.PocketBase.URL }

// Env is the token: PocketBase shows an empty list to who has none.
func (p PocketShelf) Env() []string { return []string{"POCKETBASE_TOKEN=" + p.Token} }

func (p PocketShelf) Version() (string, error) {
	// A test has no list of its modules.
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/pocketbase/pocketbase").Output()
	return "PocketBase " + strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), err
}

func (p PocketShelf) Stored() (Stored, error) {
	var rows []struct{ ID, Title string }
	if err := p.app.DB().NewQuery("SELECT id, title FROM tickets").All(&rows); err != nil {
		return nil, err
	}
	s := Stored{}
	for _, r := range rows {
		s.put("records", r.Title, r.ID)
	}
	return s, nil
}

// Change touches tickets of the first page, deletes others of it, and adds some.
func (p PocketShelf) Change(round int) error {
	var ids []string
	if err := p.app.DB().NewQuery("SELECT id FROM tickets ORDER BY updated, id LIMIT 20").Column(&ids); err != nil {
		return err
	}
	if err := p.Touch(ids[:10]...); err != nil {
		return err
	}
	for _, id := range ids[10:] {
		r, err := p.app.FindRecordById("tickets", id)
		if err != nil {
			return err
		}
		if err := p.app.Delete(r); err != nil {
			return err
		}
	}
	return p.Add(round)
}
