package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/pacing/gate"
	"collect/report/problem"
	"collect/store"
)

// A Summary is what there is to say when a run is over. Zero means not known.
type Summary struct {
	Connector string
	Flags     string // what commands to copy must repeat
	Provider  string
	Run       string
	Mode      collection.Mode
	Lane      collection.Lane
	Outcome   collection.Outcome
	Reason    collection.Reason // why it stopped before the end
	ExitCode  int
	Started   time.Time
	Ended     time.Time
	Now       time.Time // for gaps; the zero time means Ended

	This   collection.Tally
	All    collection.Tally // of all runs, this one included
	Runs   int              // all runs, this one included
	Waited map[collection.WaitCause]time.Duration
	Owed   []store.OwnedGap

	Metrics collection.Metrics // of this run
	Trouble string             // what stood in its way, if it got no answer
	Paused  store.Pause        // by a person, which ended the run; zero: that did not
	Held    string             // what holds back the next request, if the run ended for that
	NextAt  time.Time          // when it may leave
	Lost    string             // what is wrong with the database, if that ended the run: nothing of it is called safe

	RateStart  float64 // requests a second
	RateEnd    float64
	Learned    float64 // what the next run goes on from,
	Begins     float64 // and where it begins, which is less where that is doubted
	Ceiling    float64
	Limit      gate.Status // of the pace, at the end
	Accounts   []Account   // where several took turns
	RequestCap int64
	State      string    // path of the database, as people write it
	Views      []string  // SQL views of the streams
	Doubts     string    // what cannot be known of a complete walk
	AsOf       time.Time // when the oldest of the walks began that the run rests on; zero: not known
	Left       string    // the changes left to the next run, if an earlier run began what this one finished
}

// SummaryOf returns the summary of run; what the run does not know is left to
// the caller.
func SummaryOf(run collection.Run, owed []store.OwnedGap, runs int, all collection.Tally) Summary {
	return Summary{
		Connector: run.Connector, Run: run.ID, Mode: run.Mode, Lane: run.Lane, Outcome: run.Outcome, Reason: run.Reason,
		ExitCode: run.ExitCode, Started: run.StartedAt, Ended: run.EndedAt,
		This: run.Tally, All: all, Runs: runs, Waited: run.Waited, Owed: owed, Metrics: run.Metrics,
	}
}

// Verdict is the first line: the outcome of the run, and that no person answered,
// if a later run is to go on as if nothing had been wrong.
func (s Summary) Verdict() string {
	verdict := s.outcomeWords()
	goesOn := s.Outcome == collection.Deferred || s.Outcome == collection.Waiting
	if goesOn && Unanswered(collection.Run{Metrics: s.Metrics, Tally: s.This}) {
		verdict += " But " + words.WithReason(NoneOf(s.This.Requests), words.Clean(s.Trouble)) + "."
	}
	return verdict
}

// justNow is for how long a run that comes to its end may have looked at a list before, and be up to date.
const justNow = time.Minute

// asOf says since when a list was not looked at, where that is longer than just now.
func (s Summary) asOf() string {
	if s.AsOf.IsZero() || s.Ended.Sub(s.AsOf) <= justNow {
		return ""
	}
	return " as of " + words.At(s.AsOf, s.Ended)
}

func (s Summary) outcomeWords() string {
	name, provider := words.Clean(s.Connector), words.Clean(s.Provider)
	if provider == "" {
		provider = "the provider"
	}
	switch s.Outcome {
	case collection.Complete:
		if s.Left != "" {
			return fmt.Sprintf("complete: %s finished the walk that was begun, %s new or changed; %s.", name, words.Counted(s.This.Changed, "record", "records"), s.Left) + s.doubted(provider)
		}
		if s.Doubts != "" {
			return fmt.Sprintf("complete as far as %s can tell: %s. %s new or changed.", provider, s.Doubts, words.Counted(s.This.Changed, "record", "records"))
		}
		return fmt.Sprintf("complete: %s is up to date%s, %s new or changed.", name, s.asOf(), words.Counted(s.This.Changed, "record", "records"))
	case collection.NothingNew:
		if s.Left != "" {
			return fmt.Sprintf("nothing new: %s finished the walk that was begun; %s.", name, s.Left) + s.doubted(provider)
		}
		return s.nothingNew(provider)
	case collection.Deferred:
		if s.Reason == collection.Interrupted && !s.Paused.At.IsZero() {
			return fmt.Sprintf("paused: %s was paused by %s. What was saved is safe.", name, words.WithReason(words.Clean(s.Paused.Who), words.Clean(s.Paused.Why)))
		}
		if s.Held != "" && !s.NextAt.IsZero() {
			why := words.Clean(s.Held)
			if s.Reason == collection.WallClock {
				why = "nothing more can leave before its time limit: " + why
			}
			return fmt.Sprintf("paused: %s goes on later: %s. What was saved is safe.", name, why)
		}
		switch s.Reason {
		case collection.RequestCap:
			if s.RequestCap > 0 {
				return fmt.Sprintf("paused: %s reached its request cap (%s). What was saved is safe.", name, words.Count(s.RequestCap))
			}
			return fmt.Sprintf("paused: %s reached its request cap. What was saved is safe.", name)
		case collection.WallClock:
			return fmt.Sprintf("paused: %s reached its time limit. What was saved is safe.", name)
		}
		if slices.ContainsFunc(s.Owed, func(g store.OwnedGap) bool { return g.Reason == collection.ListChanged }) {
			return fmt.Sprintf("paused: %s is not whole yet: a list changed while it was read, and the next run reads it again. What was saved is safe.", name)
		}
		return fmt.Sprintf("paused: %s has planned work left. What was saved is safe.", name)
	case collection.Waiting:
		why := "pieces are owed that " + provider + " could not give now"
		if s.Reason != "" {
			why = cmp.Or(s.pauseWords(), problem.Brief(s.Reason))
		}
		return fmt.Sprintf("waiting: %s goes on later: %s. What was saved is safe.", name, why)
	case collection.Blocked:
		why := s.leftWords()
		if since := s.allRestSince(); !since.IsZero() {
			left := words.Counted(int64(OwedCount(s.Owed)), "gap is", "gaps are")
			return fmt.Sprintf("owed: %s has all the rest; %s left to you since %s.", name, left, words.At(since, s.At()))
		}
		if s.Reason != "" && s.Reason.Kind() == collection.Stuck {
			why = problem.Brief(s.Reason)
		}
		return fmt.Sprintf("blocked: %s needs you: %s.", name, why)
	case collection.RunInterrupted:
		return fmt.Sprintf("interrupted: %s was asked to stop. What was saved is safe.", name)
	}
	if s.Lost != "" {
		return fmt.Sprintf("failed: %s did not come to its end, and %s.", name, s.Lost)
	}
	if problem.ServerAway(s.Metrics.Broke) {
		return fmt.Sprintf("failed: %s did not come to its end: the database server was away. What was saved is safe.", name)
	}
	if why := s.brokeWords(); why != "" {
		return fmt.Sprintf("failed: %s did not come to its end: %s. What was saved is safe.", name, why)
	}
	return fmt.Sprintf("failed: %s did not come to its end. What was saved is safe.", name)
}

// pauseWords says what the pause is for that was too long for the run; "" if the provider asked for it,
// or another reason ended the run.
func (s Summary) pauseWords() string {
	for _, gap := range slices.Backward(s.Owed) {
		if s.Reason == collection.RetryAfter && gap.Reason == s.Reason && gap.Detail != "" {
			return words.Clean(gap.Detail)
		}
	}
	return ""
}

// brokeWords says which error ended the run; "" if that was not kept.
func (s Summary) brokeWords() string {
	if s.Metrics.BrokeBy == "" {
		return ""
	}
	return BrokeWords(collection.Run{Outcome: s.Outcome, Metrics: s.Metrics})
}

// nothingNew says that a run found nothing to store.
func (s Summary) nothingNew(provider string) string {
	if s.All.Records == 0 {
		said := " returned no record"
		if s.Runs > 1 {
			said = " has returned no record in any run"
		}
		return "nothing came: " + provider + said + ". If it has some, look at `get`, `records` and `query` in the connector file: an API may answer a parameter that it does not know with an empty list."
	}
	switch {
	case s.finishedBackfill():
		return fmt.Sprintf("nothing asked: the backfill of %s was finished before, so that no request was sent.", words.Clean(s.Connector))
	case s.This.Requests == 0:
		return fmt.Sprintf("nothing asked: %s had nothing to ask %s for, so that no request was sent.", words.Clean(s.Connector), provider)
	}
	return "nothing new: no records changed since the last run." + s.doubted(provider)
}

// doubted says that nothing shows whether a walk, of this run or of one before, passed records by; "" if something does.
func (s Summary) doubted(provider string) string {
	if s.Doubts == "" {
		return ""
	}
	return fmt.Sprintf(" What is stored is complete as far as %s can tell: %s.", provider, s.Doubts)
}

// finishedBackfill reports whether the run was to walk a backfill that came to its end before.
func (s Summary) finishedBackfill() bool {
	return s.Outcome == collection.NothingNew && s.Lane == collection.Backfill && s.This.Requests == 0
}

// allRestSince returns since when all that is owed is left to a person, if the
// run came to its end and lacks nothing but pieces that an earlier run named;
// else zero.
func (s Summary) allRestSince() (since time.Time) {
	if s.Reason != "" || s.This.Rejected > 0 {
		return time.Time{}
	}
	for _, gap := range s.Owed {
		switch {
		case gap.Settled():
		case !OnePiece(gap.Gap) || !KnownBefore(gap, collection.Run{StartedAt: s.Started}):
			return time.Time{}
		case since.IsZero() || gap.OpenedAt.Before(since):
			since = gap.OpenedAt
		}
	}
	return since
}

// leftWords says what is left to a person: gaps, or records of this run.
func (s Summary) leftWords() string {
	var parts []string
	if n := OwedKinds(s.Owed)[collection.Stuck]; n == 1 {
		parts = append(parts, "1 gap is stuck")
	} else if n > 1 {
		parts = append(parts, words.Count(int64(n))+" gaps are stuck")
	}
	if s.This.Rejected > 0 {
		parts = append(parts, QuarantineWords(s.This.Rejected))
	}
	if parts == nil {
		return "the last run was refused"
	}
	return strings.Join(parts, ", and ")
}

// waitCauseWords says what a time was spent on.
func (s Summary) waitCauseWords(cause collection.WaitCause) string {
	switch cause {
	case collection.WaitWindow:
		return "ceiling used up"
	case collection.WaitRetryAfter:
		if s.Provider != "" {
			return words.Clean(s.Provider) + " asked us to wait"
		}
		return "asked to wait"
	case collection.WaitBackoff:
		return "before retries"
	case collection.WaitBreaker:
		return "breaker open"
	case collection.WaitReserve:
		return "quota used up"
	}
	return string(cause)
}

// A TimePart is a part of the time of a run.
type TimePart struct {
	Cause string        `json:"cause"` // a collection.WaitCause, or "work"
	What  string        `json:"what"`
	Took  time.Duration `json:"-"`
}

// TimeParts says where the time went. Waits of requests side by side add up to more
// than the run took; then the rest is not known and not among them.
func (s Summary) TimeParts() (parts []TimePart) {
	rest := s.Ended.Sub(s.Started)
	if s.Started.IsZero() || rest < 0 {
		return nil
	}
	for _, cause := range WaitCauses {
		if d := s.Waited[cause]; d >= 100*time.Millisecond {
			parts = append(parts, TimePart{string(cause), s.waitCauseWords(cause), d})
		}
		rest -= s.Waited[cause]
	}
	if rest >= 0 {
		parts = append([]TimePart{{"work", "waiting for answers and saving", rest}}, parts...)
	}
	return parts
}

// TimeWords says where the time went.
func (s Summary) TimeWords() string {
	took := s.Ended.Sub(s.Started)
	if s.Started.IsZero() || took < 0 {
		return ""
	}
	text, known := words.Whole(words.Tenth(took)), false
	var said []string
	for _, part := range s.TimeParts() {
		known = known || part.Cause == "work"
		said = append(said, part.What+" "+words.Whole(words.Tenth(part.Took)))
	}
	if !known {
		text += ", side by side"
	}
	return text + ": " + strings.Join(said, ", ")
}

// RateWords says three figures, with what each is of: what the run sent, the pace that it
// was allowed, and the pace that the next run goes on from. The first answers may move that at
// once: they announce a limit, or a trial of more goes on.
func (s Summary) RateWords() string {
	if s.RateEnd <= 0 || s.This.Requests == 0 {
		return ""
	}
	sent := 0.0
	if took := s.Ended.Sub(s.Started); took > 0 {
		sent = float64(s.This.Requests) / took.Seconds()
	}
	// Each is in the unit of its own that every other screen has for it.
	start, end, learned := words.Rate(s.RateStart), words.Rate(s.RateEnd), words.Rate(s.Learned)
	text := fmt.Sprintf("%s sent on average; allowed %s before the first answer, %s at the end", words.Rate(sent), start, end)
	if s.This.Requests == 1 { // which has no average
		text = fmt.Sprintf("allowed %s before the first answer, %s at the end", start, end)
	}
	begins := words.Rate(s.Begins)
	below, until := s.Begins > 0 && begins != learned, untilTold(&s.Limit)
	switch {
	case s.Learned <= 0:
	case learned == end && below:
		text += " (the next run begins at " + begins + until + ")"
	case learned == end:
		text += " (the next run goes on from that" + until + ")"
	case below:
		text += "; " + learned + " was found; the next run begins at " + begins + until
	default:
		text += "; " + learned + " was found, from which the next run goes on" + until
	}
	if trial := s.Limit.Trial; s.Learned > 0 && trial > s.Learned && words.Rate(trial) != learned {
		text += ", and soon tries " + words.Rate(trial) + " again"
	}
	text += together(&s.Limit)
	if s.Ceiling > 0 {
		return text + "; ceiling " + words.Rate(s.Ceiling)
	}
	return text + "; no ceiling by the second or the minute declared"
}

// GapWords counts what is owed by kind, what needs a person first, and says what
// this run did not try.
func (s Summary) GapWords() string {
	text := OwedWords(s.Owed)
	old := func(g store.OwnedGap) bool {
		return collection.OfBefore(collection.Run{ID: s.Run, Reason: s.Reason, Tally: s.This}, g.Gap)
	}
	if i := slices.IndexFunc(s.Owed, old); i >= 0 {
		text += fmt.Sprintf("; not tried since an earlier run (%s)", problem.Brief(s.Owed[i].Reason))
	}
	return text
}

func (s Summary) SavedWords() string {
	if s.State == "" || s.Lost != "" {
		return ""
	}
	if len(s.Views) == 0 {
		return words.Clean(s.State)
	}
	views := slices.Clone(s.Views)
	if len(views) > 3 {
		views = append(views[:3], "and more")
	}
	noun := "views "
	if len(s.Views) == 1 {
		noun = "view "
	}
	return fmt.Sprintf("%s (%s%s)", words.Clean(s.State), noun, words.Clean(strings.Join(views, ", ")))
}

// Next says who goes on, and how. A run that is complete needs no word, but for a backfill
// that was finished before.
func (s Summary) Next() string {
	resume := s.command("resume")
	if s.finishedBackfill() {
		return "to walk a stream of it once more: " + s.command("reset") + " --lane backfill --stream STREAM --reason WHY"
	}
	switch s.Outcome {
	case collection.Complete, collection.NothingNew:
		return ""
	case collection.Deferred:
		if !s.Paused.At.IsZero() {
			return "you: " + s.command("unpause") + " --reason WHY"
		}
		if !s.NextAt.IsZero() {
			return fmt.Sprintf("no request leaves before %s; a run after that continues by itself", words.At(s.NextAt, s.At()))
		}
		return "the next run continues by itself; now: " + resume
	case collection.Waiting:
		if until := FirstWait(s.Owed, s.At()); !until.IsZero() {
			return fmt.Sprintf("a run after %s continues by itself", words.At(until, s.At()))
		}
		if slices.ContainsFunc(s.Owed, func(g store.OwnedGap) bool { return g.Reason == collection.CircuitOpen && g.NotBefore.IsZero() }) {
			return "no time ends this: an operator holds the breaker; once it is released: " + resume
		}
		return "a later run continues by itself"
	case collection.Blocked:
		if OwedCount(s.Owed) == 0 {
			return "correct the cause that is named above; then: " + resume
		}
		return "see what and why: " + s.command("gaps")
	}
	return resume
}

// command returns a command on the connector, to be copied.
func (s Summary) command(verb string) string { return problem.Command(verb, s.Connector, s.Flags) }

// At returns the time at which the summary is read.
func (s Summary) At() time.Time {
	if s.Now.IsZero() {
		return s.Ended
	}
	return s.Now
}

// A SummaryLine is a summary in JSON, with raw numbers; what is not known is null.
type SummaryLine struct {
	Outcome   collection.Outcome      `json:"outcome"`
	Reason    *string                 `json:"stop_reason"`
	NextAt    jsonout.Time            `json:"next_at"`
	ExitCode  int                     `json:"exit_code"`
	Mode      collection.Mode         `json:"mode"`
	Started   jsonout.Time            `json:"started_at"`
	Ended     jsonout.Time            `json:"ended_at"`
	Took      float64                 `json:"duration_seconds"`
	Waited    map[string]float64      `json:"waited"`
	This      TallyLine               `json:"this_run"`
	Overall   TallyLine               `json:"overall"`
	Owed      map[collection.Kind]int `json:"gaps_owed"`
	Gone      int                     `json:"gone"`
	Waived    int                     `json:"waived"`
	RateStart *float64                `json:"rate_start_per_second"`
	RateEnd   *float64                `json:"rate_end_per_second"`
	Ceiling   *float64                `json:"ceiling_per_second"`
	Learned   *float64                `json:"learned_per_second"`
	Begins    *float64                `json:"begins_per_second"` // the next run
	Limit     *Constraint             `json:"limit"`
	Metrics   *Metrics                `json:"metrics"`
	Resume    string                  `json:"resume_command"`
	Moved     bool                    `json:"checkpoint_moved"`
	Left      *string                 `json:"left_for_next_run"` // where an earlier run began what this one finished
	Accounts  []TurnLine              `json:"accounts,omitempty"`
	Error     *ErrorLine              `json:"error"` // that ended it; null: none did
}

// Line returns the summary for --json.
func (s Summary) Line() SummaryLine {
	overall := TallyLineOf(s.All)
	overall.Runs = &s.Runs
	return SummaryLine{
		s.Outcome, jsonout.Text(string(s.Reason)), jsonout.Time(s.NextAt), s.ExitCode, s.Mode, jsonout.Time(s.Started), jsonout.Time(s.Ended),
		s.Ended.Sub(s.Started).Seconds(), WaitedLine(s.Waited), TallyLineOf(s.This), overall, OwedKinds(s.Owed), GoneCount(s.Owed), len(Waived(s.Owed)),
		jsonout.OrNull(s.RateStart), jsonout.OrNull(s.RateEnd), jsonout.OrNull(s.Ceiling), jsonout.OrNull(s.Learned), jsonout.OrNull(s.Begins), Limit(&s.Limit), MetricsOf(s.Metrics), s.command("resume"), s.This.Slices > 0,
		jsonout.Text(s.Left), TurnLines(s.Accounts, s.At()), errorLine(collection.Run{Outcome: s.Outcome, Metrics: s.Metrics}),
	}
}
