// Package pacing decides when the next request to a provider may leave.
//
// A connector is given the client of a [Governor] and nothing else that can
// send, so that no connector can misbehave. Behind that client, each attempt
// passes the same gate, outermost first:
//
//	freeze → breaker → one wait → request cap → slot in flight → send → classify → record
//	   ↑                                                                          │
//	   └───────────────────── retry, while tokens and attempts last ←─────────────┘
//
// The wait is the longest of all reasons to wait (the pace, the ceilings, a
// Retry-After, the breaker, the backoff of a retry), never their sum. It is
// the only place that sleeps. An attempt takes its slot when it leaves, and
// gives it back before anybody waits for a retry.
//
// The pace is learned, by a law; see law.Laws. All of them start slow: the first
// request itself waits for one interval. Each throttle episode slows down,
// once, however many refusals the episode has. An error never makes the pace
// faster. Declared ceilings are exact on top of it, for every window at once
// and across restarts.
//
// What ends a request for good is a *[collection.Stop] inside the error of the
// client: a budget of ours, a wait that the run does not grant, a refusal, or
// attempts that are used up. The *url.Error that [http.Client] puts around it
// quotes the URL, so show the stop and not the error around it.
//
// Three packages inside it decide, and are pure: response reads an answer, law
// moves the pace, gate puts all reasons to wait together. Around them, desk
// keeps the line and sleeps, and this one sends, charges and saves.
//
// What must outlive the process (a hold, a freeze, the breaker, the counts of
// long windows) is saved before anything relies on it.
package pacing
