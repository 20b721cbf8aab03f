package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"collect/internal/userfile"
	"collect/internal/words"
	"collect/internal/yamlfile"
)

// crontabTimeout bounds the look at the user's own crontab.
const crontabTimeout = 5 * time.Second

// schedules names the places that start a run: crontabs and systemd units.
func (d *Diagnosis) schedules(ctx context.Context) (where []string) {
	ctx, cancel := context.WithTimeout(ctx, crontabTimeout)
	defer cancel()
	if own, err := exec.CommandContext(ctx, "crontab", "-l").Output(); err == nil && startsRun(own) {
		where = append(where, "your crontab")
	}
	places := []string{
		filepath.Join(d.Root, "etc", "crontab"),
		filepath.Join(d.Root, "etc", "cron.*", "*"),
		filepath.Join(d.Root, "etc", "systemd", "system", "*.service"),
		filepath.Join(d.Root, "lib", "systemd", "system", "*.service"),
		filepath.Join(d.Root, "usr", "lib", "systemd", "system", "*.service"),
	}
	if d.Units != "" {
		places = append(places, filepath.Join(d.Units, "*.service"))
	}
	seen := map[string]bool{}
	for _, pattern := range places {
		files, _ := filepath.Glob(pattern) // the patterns are well formed
		for _, file := range files {
			real, err := filepath.EvalSymlinks(file)
			if err != nil || seen[real] {
				continue
			}
			seen[real] = true
			if text, err := userfile.ReadAtMost(file, yamlfile.Longest); err == nil && startsRun(text) {
				where = append(where, words.Home(file, d.Env))
			}
		}
	}
	const most = 3
	if len(where) > most {
		where = append(where[:most], fmt.Sprintf("%d more", len(where)-most))
	}
	return where
}

// startsRun reports whether a crontab or a unit has a line that runs collect.
func startsRun(text []byte) bool {
	for line := range bytes.Lines(text) {
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		for i, word := range words[:len(words)-1] {
			_, command, _ := strings.Cut("="+word, "=") // ExecStart=/usr/bin/collect
			if command = command[strings.LastIndex(command, "=")+1:]; filepath.Base(command) == "collect" &&
				(words[i+1] == "run" || words[i+1] == "resume") {
				return true
			}
		}
	}
	return false
}
