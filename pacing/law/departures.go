package law

// The constants of departures: chosen, and judged together by docs/pacing-score.md.
const (
	slackMost = 0.25     // slots by which requests leave late on average, where the pace is what holds them back
	slackEMA  = 1.0 / 32 // weight of one of them
)

// A departures finds out whether the pace is what holds requests back. Where
// something else does, like the number in flight, they leave in bursts: most of
// them leave as early as they might, and a few much later.
type departures struct {
	slack float64 // slots by which requests left late, lately
}

// observe takes by how many slots a request left later than it might have. It
// reports whether the pace held it back, and those before it on average.
func (d *departures) observe(lag float64) bool {
	d.slack += slackEMA * (lag - d.slack)
	return lag <= slackMost && d.slack <= slackMost
}
