package cmd

import (
	"fmt"
	"strings"

	"collect/cmd/internal/term"
	"collect/internal/words"
	"collect/report"
	"collect/report/problem"
)

// githubErrorsShown is how many annotations GitHub shows for one step.
const githubErrorsShown = 10

// underGitHub reports whether this process is a step of a GitHub workflow.
func underGitHub(env func(string) string) bool { return term.Truthy(env("GITHUB_ACTIONS")) }

// githubAnnotations returns problems as workflow commands, which GitHub shows
// beside the line of the file that they name.
func githubAnnotations(problems []problem.Problem) string {
	var b strings.Builder
	for _, p := range problems[:min(len(problems), githubErrorsShown)] {
		command := "notice"
		switch p.Level {
		case problem.LevelError:
			command = "error"
		case problem.LevelWarning, problem.LevelWaiting:
			command = "warning"
		}
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", command, githubPlace(p.At), githubProperty(p.Code), githubData(p.Headline))
	}
	return b.String()
}

// githubPlace returns the properties for file:line:column; "" for other places.
func githubPlace(at string) string {
	parts := strings.Split(at, ":")
	if len(parts) < 3 || !isNumber(parts[len(parts)-1]) || !isNumber(parts[len(parts)-2]) {
		return ""
	}
	n := len(parts)
	return fmt.Sprintf("file=%s,line=%s,col=%s,", githubProperty(strings.Join(parts[:n-2], ":")), parts[n-2], parts[n-1])
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// githubData escapes the text of a workflow command, as the runner's own
// toolkit does.
func githubData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(words.Clean(s))
}

func githubProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubData(s))
}

// githubGroup folds what is written until githubGroupEnd under a title in the log of a step.
func githubGroup(title string) string { return "::group::" + githubData(title) + "\n" }

const githubGroupEnd = "::endgroup::\n"

// fold folds the lines of a run while it goes on, in the log of a step of a GitHub workflow.
// What is returned ends that.
func (a *app) fold(title string, o runOptions) (unfold func()) {
	if !underGitHub(a.env) || o.quiet > 0 || a.flags.json {
		return func() {}
	}
	fmt.Fprint(a.err, githubGroup(title))
	return func() { fmt.Fprint(a.err, githubGroupEnd) }
}

// githubSummary returns the summary for $GITHUB_STEP_SUMMARY.
func githubSummary(s report.Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| | this run | all runs |\n|---|---:|---:|\n", markdownText(s.Verdict()))
	row := func(label string, this, all int64) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", label, words.Count(this), words.Count(all))
	}
	row("slices", s.This.Slices, s.All.Slices)
	row("received", s.This.Records, s.All.Records)
	row("changed", s.This.Changed, s.All.Changed)
	row("quarantined", s.This.Rejected, s.All.Rejected)
	if s.All.Older > 0 {
		row("older, not stored", s.This.Older, s.All.Older)
	}
	if s.All.Deleted > 0 {
		row("marked as deleted", s.This.Deleted, s.All.Deleted)
	}
	row("requests", s.This.Requests, s.All.Requests)
	row("throttled", s.This.Throttled, s.All.Throttled)
	fmt.Fprintf(&b, "\ngaps: %s\n", markdownText(s.GapWords()))
	return b.String()
}

// githubEnds returns the summary of several connectors for $GITHUB_STEP_SUMMARY.
func githubEnds(ends []report.End) string {
	var b strings.Builder
	b.WriteString("| connector | verdict | records | requests | gaps | next |\n|---|---|---:|---:|---:|---|\n")
	for _, end := range ends {
		for _, cell := range endCells(end) {
			b.WriteString("| " + markdownText(cell) + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// markdownText escapes what Markdown and HTML would act on.
func markdownText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "[", `\[`, "<", "&lt;", "&", "&amp;").Replace(s)
}
