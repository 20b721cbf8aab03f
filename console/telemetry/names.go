package telemetry

import "github.com/prometheus/client_golang/prometheus"

// The metrics. docs/monitoring.md has them, too, with what to do about them; a test
// holds the page to this list.
var (
	buildInfo         = describe("build_info", "The version that told this.", "version", "goversion")
	storeReadable     = describe("store_readable", "1 if the store could be read; 0 if not: then most metrics are absent.")
	storeSize         = describe("store_size_bytes", "Size of the database and its log on the disk.")
	diskFree          = describe("disk_free_bytes", "Bytes that may still be written to the disk of the database.")
	connectors        = describe("connectors", "Connectors in the store.")
	connectorsOmitted = describe("connectors_omitted", "Connectors in the store that are left out here: beyond the first 1,000 by name.")

	connectorState = describe("connector_state", "1 for the state that the connector is in, by the words of collect status.", "connector", "state")
	needsOperator  = describe("connector_needs_operator", "1 if the connector needs a person.", "connector")
	runsTotal      = describe("runs_total", "Runs that were begun.", "connector")
	runActive      = describe("run_active", "1 while a run goes on.", "connector")
	runEndedAt     = describe("last_run_end_timestamp_seconds", "When the newest run ended; absent while it goes on.", "connector")
	runExitCode    = describe("last_run_exit_code", "Exit code of the newest run; absent while it goes on, or if its process died.", "connector")
	successAt      = describe("last_success_timestamp_seconds", "When a run ended last with exit code 0, a planned pause included.", "connector")
	checkpointAt   = describe("checkpoint_timestamp_seconds", "When something was saved last.", "connector")
	checkpointAge  = describe("checkpoint_age_seconds", "Time since something was saved last; only where metrics are scraped from collect serve.", "connector")

	recordsSaved       = describe("records_saved_total", "Records that were delivered and stored, changed or not.", "connector")
	recordsChanged     = describe("records_changed_total", "Records that were new, or different from what was stored.", "connector")
	recordsQuarantined = describe("records_quarantined_total", "Records that were put in quarantine.", "connector")
	slicesCommitted    = describe("slices_committed_total", "Slices that were saved.", "connector")
	slicesDone         = describe("slices_done", "Partitions, pages or records that are stored, as collect status counts a stream.", "connector", "unit")
	slicesPlanned      = describe("slices_planned", "How many of them there are in all; absent if that is not known.", "connector", "unit")

	gapsOpen   = describe("gaps_open", "Gaps that are owed.", "connector", "kind")
	gapOldest  = describe("gap_oldest_timestamp_seconds", "When the oldest of them was opened.", "connector", "kind")
	gapsWaived = describe("gaps_waived", "Gaps that a person gave up.", "connector")
	gapsOpened = describe("gaps_opened_total", "Gaps that were opened.", "connector")
	gapsClosed = describe("gaps_closed_total", "Gaps that were recovered.", "connector")

	requests  = describe("requests_total", "Requests that were sent, retries included, by what became of them.", "connector", "provider", "outcome")
	calls     = describe("calls_total", "What connectors asked for, however many requests it took, by how it ended.", "connector", "provider", "outcome")
	throttles = describe("throttles_total", "Answers that asked for less, by their status.", "connector", "provider", "signal")
	retries   = describe("retries_total", "Requests after the first for the same thing.", "connector", "provider")
	waits     = describe("wait_seconds_total", "Time that nothing was sent, by why.", "connector", "provider", "reason")
	durations = describe("request_duration_seconds", "Time from sending a request to the end of its answer.", "connector", "provider")

	rateNow      = describe("rate_now_per_second", "Requests a second that the pace allows now; absent between runs.", "connector", "provider")
	rateLearned  = describe("rate_learned_per_second", "Requests a second that were found to go well; absent if not known.", "connector", "provider")
	rateCeiling  = describe("rate_ceiling_per_second", "Requests a second that the owner allows at most; absent if none is declared.", "connector", "provider")
	clampRatio   = describe("clamp_ratio", "Share of the ceiling that is in force; absent if none is declared.", "connector", "provider")
	budgetUsed   = describe("budget_used_ratio", "Share of a budget that is used up, from 0 to 1.", "connector", "provider", "axis")
	breakerState = describe("breaker_state", "1 for the state that the circuit breaker is in.", "connector", "provider", "state")
	frozen       = describe("frozen", "1 if all calls are stopped, because the provider refused the account or a person stopped them.", "connector", "provider")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("collect_"+name, help, labels, nil)
}
