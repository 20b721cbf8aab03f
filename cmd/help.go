package cmd

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"collect/cmd/internal/term"
)

// The groups of commands, in the order in which they are met.
var groups = []*cobra.Group{
	{ID: "collect", Title: "Collect:"},
	{ID: "look", Title: "See how it stands:"},
	{ID: "fleet", Title: "Collect with workers on several machines:"},
	{ID: "records", Title: "Take records out, and keep them safe:"},
	{ID: "operate", Title: "Give orders:"},
	{ID: "author", Title: "Write a connector:"},
	{ID: "other", Title: "Try and learn:"},
}

// pages says what the help of each command has besides its flags: the group it
// is in, and an example that can be typed.
var pages = map[string]struct{ group, example string }{
	"collect":                   {"", "collect run tickets.yaml\ncollect status\ncollect explain tickets"},
	"collect init":              {"collect", "collect init github\ncollect init ./tickets.yaml --param org=acme --token-env ACME_TOKEN --yes\ncollect init --cron\ncollect init --systemd --into ~/.config/systemd/user"},
	"collect run":               {"collect", "collect run tickets.yaml --param org=acme --max-time 30m\ncollect run github --stream issues --max-requests 1000\ncollect run --all --max-time 14m"},
	"collect resume":            {"collect", "collect resume tickets\ncollect resume tickets --max-requests 100\ncollect resume tickets orders"},
	"collect worker":            {"fleet", "collect worker --state postgres://collect@db/collect\ncollect worker --turn 10s --at-most 4"},
	"collect enqueue":           {"fleet", "collect enqueue tickets orders\ncollect enqueue --all --reason 'after the move'"},
	"collect schedule":          {"fleet", "collect schedule add tickets '*/15 * * * *' --jitter 1m\ncollect schedule list"},
	"collect schedule add":      {"", "collect schedule add tickets '*/15 * * * *' --jitter 1m\ncollect schedule add orders '0 3 * * 1-5' --zone Europe/Berlin --catch-up none"},
	"collect schedule list":     {"", "collect schedule list\ncollect schedule list --json"},
	"collect schedule remove":   {"", "collect schedule remove tickets --reason 'it moved'"},
	"collect fleet":             {"fleet", "collect fleet\ncollect fleet --json"},
	"collect status":            {"look", "collect status\ncollect status tickets\ncollect status --check; echo $?"},
	"collect serve":             {"look", "collect serve\ncollect serve --read-only --listen 127.0.0.1:0\ncollect serve --url https://ops.example/collect"},
	"collect explain":           {"look", "collect explain tickets\ncollect explain g_31\ncollect explain E0301\ncollect explain DETAIL_GAP"},
	"collect gaps":              {"look", "collect gaps\ncollect gaps tickets --all\ncollect gaps tickets --calendar\ncollect gaps tickets --json"},
	"collect gaps retry":        {"", "collect gaps retry tickets g_31 --reason 'access was granted'\ncollect gaps retry tickets --stream details --reason 'mended' --yes"},
	"collect gaps waive":        {"", "collect gaps waive tickets g_31 --reason 'that file is broken at the provider'\ncollect gaps waive tickets --stream details --reason 'not ours' --yes"},
	"collect runs":              {"look", "collect runs\ncollect runs tickets --limit 5"},
	"collect run-view":          {"look", "collect run-view tickets\ncollect run-view 01M88WXC0YY8BKSB --json"},
	"collect verify":            {"look", "collect verify tickets\ncollect verify tickets --stream issues --max-requests 500\ncollect verify tickets --sample 20 --repair"},
	"collect doctor":            {"look", "collect doctor\ncollect doctor --online\ncollect doctor --bundle report.tar.gz"},
	"collect export":            {"records", "collect export tickets details > details.jsonl\ncollect export tickets details --format csv --output details.csv"},
	"collect backup":            {"records", "collect backup state-backup.db"},
	"collect restore":           {"records", "collect restore state-backup.db --reason 'the disk failed'\ncollect restore state-backup.db --reason 'the disk failed' --yes"},
	"collect state":             {"records", "collect state copy state.db postgres://collect@db.example/collect"},
	"collect state copy":        {"", "collect state copy state.db postgres://collect@db.example/collect\ncollect state copy 'postgres://collect@db.example/collect' state.db --json"},
	"collect reset":             {"operate", "collect reset tickets --stream details --reason 'collect it again'\ncollect reset tickets --stream issues --from 2026-01-01T00:00:00Z"},
	"collect prune":             {"operate", "collect prune tickets --events 90d --dry-run\ncollect prune --all --events 90d --quarantine 64MB --reason 'monthly' --yes\ncollect prune --shrink"},
	"collect schema":            {"records", "collect schema\ncollect schema status > status.schema.json\ncollect schema tickets issues > issues.schema.json\ncollect schema accept tickets issues --reason 'they renamed it'"},
	"collect schema accept":     {"", "collect schema accept tickets issues --reason 'they renamed it'"},
	"collect pause":             {"operate", "collect pause tickets --reason 'they migrate until Monday'"},
	"collect unpause":           {"operate", "collect unpause tickets --reason 'they are done'"},
	"collect freeze":            {"operate", "collect freeze on tickets --for 2h --reason 'they asked us to'\ncollect freeze release tickets --reason 'settled with them'"},
	"collect freeze on":         {"", "collect freeze on tickets --for 2h --reason 'they asked us to'"},
	"collect breaker":           {"operate", "collect breaker open tickets --reason 'maintenance at noon'\ncollect breaker release tickets --reason 'maintenance is over'"},
	"collect budget":            {"operate", "collect budget show tickets\ncollect budget set tickets 3/s --for 2h --reason 'they run a sale today'\ncollect budget release tickets s --reason 'it is over'"},
	"collect budget show":       {"", "collect budget show tickets\ncollect budget show tickets --json"},
	"collect budget set":        {"", "collect budget set tickets 3/s --for 2h --reason 'they run a sale today'\ncollect budget set tickets 12000/day --reason 'the rest is for people'"},
	"collect budget release":    {"", "collect budget release tickets s --reason 'it is over'"},
	"collect notify":            {"collect", "collect notify test"},
	"collect notify test":       {"", "collect notify test"},
	"collect auth":              {"collect", "collect auth login google_calendar --param client_id=ID\ncollect auth list"},
	"collect auth login":        {"", "collect auth login google_calendar --param client_id=ID\ncollect auth login acme.yaml --device"},
	"collect auth list":         {"", "collect auth list\ncollect auth list github --json"},
	"collect auth set":          {"", "collect auth set acme.yaml\npass show acme | collect auth set acme.yaml token"},
	"collect auth test":         {"", "collect auth test acme.yaml"},
	"collect auth logout":       {"", "collect auth logout google_calendar --param client_id=ID"},
	"collect check":             {"author", "collect check tickets.yaml\ncollect check tickets.yaml --online --param org=acme"},
	"collect record":            {"author", "collect record tickets.yaml\ncollect record tickets.yaml --out testdata --pages 2"},
	"collect test":              {"author", "collect test tickets.yaml\ncollect test tickets.yaml --cassette testdata/walk.txtar"},
	"collect import":            {"author", "collect import airbyte source-tickets/manifest.yaml"},
	"collect import airbyte":    {"", "collect import airbyte source-tickets/manifest.yaml --name tickets"},
	"collect new":               {"author", "collect new tickets\ncollect new tickets --url https://api.example.com/tickets --token-env TOKEN"},
	"collect plan":              {"look", "collect plan tickets\ncollect plan tickets.yaml --json"},
	"collect preview":           {"author", "collect preview tickets.yaml issues\ncollect preview tickets.yaml issues --pages 3 --param org=acme --json"},
	"collect connectors":        {"author", "collect connectors\ncollect connectors --json"},
	"collect demo":              {"other", "collect demo\ncollect demo --keep demo"},
	"collect simulate":          {"other", "collect simulate\ncollect simulate --ceiling 8 --family window --seeds 5\ncollect simulate --connector tickets.yaml --family bucket --every 1d"},
	"collect version":           {"other", "collect version --json"},
	"collect help":              {"other", "collect help run\ncollect help exit-codes"},
	"collect completion":        {"other", "source <(collect completion bash)"},
	"collect exit-codes":        {"", "collect help exit-codes"},
	"collect man":               {"other", "collect man man\nman -l man/collect-run.1"},
	"collect config":            {"look", "collect config show --origin\ncollect config example > collect.yaml"},
	"collect config show":       {"", "collect config show\ncollect config show --origin\ncollect config show --jq '.[] | select(.key == \"state\") | .value'"},
	"collect config example":    {"", "collect config example > collect.yaml"},
	"collect connectors schema": {"", "collect connectors schema > connector.schema.json"},
	"collect freeze release":    {"", "collect freeze release tickets --reason 'settled with them'"},
	"collect breaker open":      {"", "collect breaker open tickets --reason 'maintenance at noon'"},
	"collect breaker close":     {"", "collect breaker close tickets --reason 'they say that it is over'"},
	"collect breaker release":   {"", "collect breaker release tickets --reason 'maintenance is over'"},
}

// dress gives every command below root its example, its group, and what
// completes its arguments and flags.
func (a *app) dress(root *cobra.Command) {
	root.AddGroup(groups...)
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", a.width())))
	root.SetUsageFunc(usage(root.UsageFunc()))
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = wrapped(c.Long, a.width())
		help(c, args)
	})
	a.dressOne(root)
}

// The flag for JSON as pflag writes it, and as a person types it.
const (
	jsonByPflag  = `--json FIELD,…[=true]`
	jsonByPeople = `--json[=FIELD,…]`
)

// usage is inner, whose text shows the flag for JSON as a person types it.
func usage(inner func(*cobra.Command) error) func(*cobra.Command) error {
	typed := jsonByPeople + strings.Repeat(" ", len(jsonByPflag)-utf8.RuneCountInString(jsonByPeople))
	return func(c *cobra.Command) error {
		out, text := c.OutOrStderr(), &bytes.Buffer{}
		c.SetOut(text)
		err := inner(c)
		c.SetOut(out)
		if err != nil {
			return err
		}
		_, err = out.Write(bytes.ReplaceAll(text.Bytes(), []byte(jsonByPflag), []byte(typed)))
		return err
	}
}

func (a *app) dressOne(c *cobra.Command) {
	page := pages[c.CommandPath()]
	c.GroupID = page.group
	if page.example != "" {
		c.Example = "  " + strings.ReplaceAll(page.example, "\n", "\n  ")
	}
	a.completes(c)
	a.printsFacts(c)
	for _, child := range c.Commands() {
		a.dressOne(child)
	}
}

// wrapped returns a text of paragraphs in lines of at most columns. What is indented is as
// it is.
func wrapped(text string, columns int) string {
	var lines []string
	begins := true
	for line := range strings.SplitSeq(text, "\n") {
		kept := line == "" || strings.HasPrefix(line, " ")
		switch last := len(lines) - 1; {
		case kept || begins:
			lines = append(lines, line)
		default:
			lines[last] += " " + line
		}
		begins = kept
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") {
			lines[i] = strings.Join(term.Wrap("", line, columns), "\n")
		}
	}
	return strings.Join(lines, "\n")
}
