package report

import (
	"fmt"

	"collect/internal/words"
	"collect/store"
)

// SharingWords says how many machines share the pace of the account now, and which process leads; "" if
// none do.
func (st Status) SharingWords() string {
	s := st.Sharing
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("shared by %s (%s)", words.Counted(int64(s.Machines), "machine", "machines"), words.Counted(int64(s.Runs), "run", "runs"))
	if s.Leader.Host != "" {
		text += fmt.Sprintf("; process %d on %s leads", s.Leader.PID, words.Clean(s.Leader.Host))
	}
	return text
}

// A SharingLine is who shares the pace of an account, as JSON.
type SharingLine struct {
	Machines int         `json:"machines"`
	Runs     int         `json:"runs"`
	Leader   *leaderLine `json:"leader"` // null: a process that does not say so
}

type leaderLine struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

func sharingLine(s *store.Sharing) *SharingLine {
	if s == nil {
		return nil
	}
	line := &SharingLine{Machines: s.Machines, Runs: s.Runs}
	if s.Leader.Host != "" {
		line.Leader = &leaderLine{s.Leader.Host, s.Leader.PID}
	}
	return line
}
