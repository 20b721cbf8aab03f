package problem

import (
	"strings"

	"collect/collection"
	"collect/internal/words"
)

// Command returns a command of ours on what, with the flags that it must
// repeat, to be copied.
func Command(verb, what, flags string) string {
	return "collect " + verb + " " + words.Clean(what+flags)
}

// RetryCommand is the order, to be copied, for all gaps of a connector or for
// some.
func RetryCommand(connector, flags string, gaps ...int64) string {
	return GapCommand("retry", connector, flags, gaps...)
}

// GapCommand is an order for gaps, by its verb: retry or waive.
func GapCommand(verb, connector, flags string, gaps ...int64) string {
	what := []string{connector}
	for _, id := range gaps {
		what = append(what, words.GapName(id))
	}
	return Command("gaps "+verb, strings.Join(what, " "), flags) + " --reason WHY"
}

// AcceptCommand is the order, to be copied, for the changes of a drift, or for
// all if they are not known.
func AcceptCommand(sc Scene, drift *collection.SchemaDriftError) string {
	var b strings.Builder
	b.WriteString(Command("schema accept", sc.Connector, "") + " " + words.Quoted(sc.Stream))
	if drift != nil && len(drift.Changes) <= mostAccepted {
		for _, c := range drift.Changes {
			for one := range strings.SplitSeq(c.Is.String(), " or ") {
				b.WriteString(" --field " + words.Quoted(c.Field+"="+one))
			}
		}
	}
	return b.String() + sc.Flags + " --reason WHY"
}

// mostAccepted bounds the fields that a command to be copied names.
const mostAccepted = 3

// GiveUp is what to do about what a stream owes that is in the connector file no more.
func GiveUp(sc Scene) Step {
	return Step{"or, if it is to have no stream " + words.Quoted(sc.Stream) + " any more:", sc.command("reset") + " --stream " + words.Quoted(sc.Stream) + " --reason WHY"}
}

// ResumeCommand continues a lane, to be copied.
func ResumeCommand(connector, flags string, lane collection.Lane) string {
	return Command("resume", connector, flags) + LaneFlag(lane)
}

func LaneFlag(lane collection.Lane) string {
	if lane == collection.Backfill {
		return " --lane backfill"
	}
	return ""
}
