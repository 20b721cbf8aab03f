package language

import (
	"time"

	"collect/collection"
)

// Reserved are headers that connector files leave alone: a credential belongs
// into auth, where it is sent to listed origins only, and the rest is the
// client's.
var Reserved = []string{"Authorization", "Proxy-Authorization", "Cookie", "Host", "Accept-Encoding", "Content-Length", "Connection", "Transfer-Encoding", "Range"}

// Unbindable are names with a meaning of their own.
var Unbindable = [...]string{"params", "secrets", "since", "page", "window", "text", "body"}

// Verdicts are what a rule may say of a response.
var Verdicts = []collection.Verdict{
	collection.Accept, collection.Retry, collection.Throttle, collection.OpenGap,
	collection.IsGone, collection.StopRun, collection.Fail,
}

// How a client shows its secret to the token endpoint (RFC 6749, section 2.3.1).
const (
	clientBasic = "basic"
	ClientBody  = "body"
)

// ClientAuths are both; OwnFields are the fields of a request for a token that
// have a key of their own, or are set by collect.
var (
	ClientAuths = [...]string{clientBasic, ClientBody}
	OwnFields   = [...]string{"grant_type", "assertion", "refresh_token", "client_id", "client_secret", "scope"}
)

// Redirects matches where a browser may come back: this machine, by a loopback
// address (RFC 8252, section 7.3) or its name.
const Redirects = `^http://(127\.0\.0\.1|\[::1\]|localhost)(:[1-9][0-9]{0,4})?(/[^?#\s]*)?$`

// PKCEs are what pkce may be; YAML knows more than one way to write on and off.
var PKCEs = [...]string{"on", "off", "true", "false"}

// Who takes turns with several tokens: requests, or walks.
const (
	turnsRequest = "request"
	TurnsWalk    = "walk"
)

// Turns are both.
var Turns = [...]string{turnsRequest, TurnsWalk}

// How the token of a session is sent: as a bearer, or as the cookie that it was.
const (
	SendBearer = "bearer"
	SendCookie = "cookie"
)

// Sends are both.
var Sends = [...]string{SendBearer, SendCookie}

// The most that a file may ask for. More in flight is a load test; a request
// that counts as more is a mistake in a unit.
const (
	mostInFlight = 64
	Heaviest     = 1000
)

// Slowest is the longest time in which a ceiling may allow one request.
const Slowest = 30 * 24 * time.Hour

// Paces and laws are the laws of the pace, and those of the requests in flight. YAML
// knows more than one way to write on and off.
var (
	Paces      = [...]string{"on", "off", "false", "true"}
	laws       = [...]string{"plateau", "aimd", "interval-step"}
	flightLaws = [...]string{"fixed", "aimd", "mimd", "gradient"}
)

// What may stand where a word is chosen from some.
var (
	ParamTypes = [...]string{"string", "int", "number", "bool", "date"}
	Forbidden  = [...]string{string(collection.Freeze), string(collection.Hold), string(collection.GapRecord)}
	Roles      = [...]string{string(collection.List), string(collection.Detail)}
	Orders     = [...]string{"none", "asc", "desc"}
	LastPages  = [...]string{"short"}
	Deletes    = [...]string{"sweep"}
	Formats    = [...]string{"json", "jsonl", "csv", "xml"}
	Archives   = [...]string{"gzip", "zip"}
)
