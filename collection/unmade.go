package collection

import (
	"encoding/json"
	"strings"
)

// UnmadePrefix begins each partition of [Unmade], and no other: what a
// connector binds begins with a letter.
const UnmadePrefix = `{"_parent":`

// Unmade returns the partition that stands for a parent, by the key of its record, if
// no partition can be made of that record. Its gaps show that the parent was skipped;
// nothing is ever collected there.
func Unmade(key string) Partition {
	quoted, _ := json.Marshal(key) // a string always marshals
	return Partition(UnmadePrefix + string(quoted) + "}")
}

// Unmade returns the key of the parent that p stands for; ok is false if p is
// the partition of a parent.
func (p Partition) Unmade() (key string, ok bool) {
	if !strings.HasPrefix(string(p), UnmadePrefix) {
		return "", false
	}
	var of struct {
		Key string `json:"_parent"`
	}
	err := json.Unmarshal([]byte(p), &of)
	return of.Key, err == nil
}
