package declarative

// The language, block by block. The reader of these structs is strict: a key
// that is not here is an error, and so is a value of another shape. The name
// of a block, for messages, is the tag of its blank field; beside it is how the
// block is written, for who wrote a single value in its place. What a key means
// is said in its tag, for the schema; docs/connectors.md says more.

type document struct {
	_         struct{}            `block:"a connector file"`
	Connector name                `yaml:"connector" about:"the name of the connector"`
	Params    ordered[paramSpec]  `yaml:"params" about:"values that a user gives: --param, or params in collect.yaml"`
	Secrets   ordered[secretSpec] `yaml:"secrets" about:"where credentials come from; none is written into the file"`
	Provider  providerSpec        `yaml:"provider" about:"who is asked, and how fast"`
	Defaults  defaultsSpec        `yaml:"defaults" about:"what all streams have unless they say otherwise"`
	Streams   ordered[streamSpec] `yaml:"streams" about:"the kinds of records, by name"`
}

type paramSpec struct {
	_        struct{} `block:"a parameter" like:"org: {type: string, required: true}"`
	Type     scalar   `yaml:"type" about:"string (the default), int, number, bool or date"`
	Required flag     `yaml:"required" about:"true: a run without a value is refused"`
	Default  scalar   `yaml:"default" about:"the value if none is given"`
	About    scalar   `yaml:"about" about:"what it is, for people"`
}

type secretSpec struct {
	_        struct{} `block:"a secret" like:"token: {env: ACME_TOKEN}"`
	Env      scalar   `yaml:"env" about:"the environment variable that holds it"`
	File     scalar   `yaml:"file" about:"the file that holds it"`
	Command  scalar   `yaml:"command" about:"the command that prints it"`
	Keyring  scalar   `yaml:"keyring" about:"not supported yet"`
	Rotate   flag     `yaml:"rotate" about:"true: its provider replaces it when it is used, and the new one is written to the file"`
	Optional flag     `yaml:"optional" about:"true: without it, requests go out without a credential"`
}

type providerSpec struct {
	_              struct{}        `block:"a provider"`
	Name           name            `yaml:"name" about:"rate, budgets, breaker and freeze belong to a provider and account; by default the name of the connector"`
	BaseURL        template        `yaml:"base_url" about:"where the API is; may hold params, or be one"`
	Origins        []template      `yaml:"origins" about:"further origins that may see the credential"`
	Auth           *authSpec       `yaml:"auth" about:"how requests are authenticated; none by default"`
	Headers        ordered[scalar] `yaml:"headers" about:"sent with every request, also to other origins; credentials cannot stand here"`
	Ceiling        ceilingSpec     `yaml:"ceiling" about:"the most that is ever asked for; all its windows hold at once"`
	StartPerSecond number          `yaml:"start_per_second" about:"the pace of the first run, in requests a second"`
	Pace           scalar          `yaml:"pace" about:"off for a server that you own"`
	Law            scalar          `yaml:"law" about:"how the pace is learned: plateau (the default), aimd or interval-step"`
	Concurrency    concurrencySpec `yaml:"concurrency" about:"requests in flight at once; one by default"`
	Clamp          clampSpec       `yaml:"clamp" about:"how far the ceiling gives way while too much is refused; on by default, or off"`
	Quota          quotaSpec       `yaml:"quota" about:"what is left for people of the limits that the provider announces"`
	On403          scalar          `yaml:"on_403" about:"a 403 that nothing explains: freeze all calls (the default), hold them until an operator releases, or make it a gap"`
	Throttle       []ruleSpec      `yaml:"throttle" about:"rules for what means \"slow down\" here"`
	Limits         limitsSpec      `yaml:"limits" about:"what one response may cost"`
}

type authSpec struct {
	_      struct{}    `block:"auth" like:"auth: {bearer: '${secrets.token}'}"`
	At     span        // where it stands
	None   flag        `yaml:"none" about:"true: no authentication"` // also written auth: none
	Bearer template    `yaml:"bearer" about:"the token after \"Authorization: Bearer\""`
	Basic  *basicSpec  `yaml:"basic" about:"user and password"`
	APIKey *apiKeySpec `yaml:"api_key" about:"a key in a header or in the query"`
	OAuth2 *oauth2Spec `yaml:"oauth2" about:"access tokens that are got when they are needed, and renewed"`
}

type basicSpec struct {
	_        struct{} `block:"basic authentication"`
	User     template `yaml:"user" about:"the user, often a secret"`
	Password template `yaml:"password" about:"the password, a secret"`
}

type apiKeySpec struct {
	_      struct{} `block:"an API key"`
	At     span     // where it stands
	Header scalar   `yaml:"header" about:"the header that carries the key"`
	Query  scalar   `yaml:"query" about:"the parameter that carries the key"`
	Value  template `yaml:"value" about:"the key, a secret"`
	Prefix scalar   `yaml:"prefix" about:"what stands before the key"`
}

type oauth2Spec struct {
	_            struct{}          `block:"oauth2"`
	At           span              // where it stands
	TokenURL     template          `yaml:"token_url" about:"the token endpoint; may be of another host, and hold params"`
	ClientID     template          `yaml:"client_id" about:"the id of the client"`
	ClientSecret template          `yaml:"client_secret" about:"the secret of the client; a public client has none"`
	RefreshToken template          `yaml:"refresh_token" about:"a secret; without it the client asks for itself (client credentials)"`
	ClientAuth   scalar            `yaml:"client_auth" about:"how the client shows its secret: basic (the default), or body"`
	Scope        template          `yaml:"scope" about:"what to ask for, with spaces between"`
	Fields       ordered[template] `yaml:"fields" about:"further fields of the request for a token, such as audience"`
}

type ceilingSpec struct {
	_         struct{} `block:"a ceiling" like:"ceiling: {per_second: 4}"`
	PerSecond number   `yaml:"per_second" about:"requests in any second; may be less than one"`
	PerMinute count    `yaml:"per_minute" about:"requests in any minute"`
	PerHour   count    `yaml:"per_hour" about:"requests in any hour"`
	PerDay    count    `yaml:"per_day" about:"requests in any 24 hours"`
}

type concurrencySpec struct {
	_   struct{} `block:"a concurrency" like:"concurrency: {max: 4}"`
	At  span     // where it stands
	Max count    `yaml:"max" about:"at most so many requests are in flight, up to 64"`
	Law scalar   `yaml:"law" about:"how the bound moves below max: aimd (the default), mimd, gradient or fixed"`
}

type clampSpec struct {
	_        struct{} `block:"a clamp" like:"clamp: {least: 60%}, or clamp: off; without it, it is on"`
	Off      flag     // written clamp: off
	Burn     percent  `yaml:"burn" about:"the ceiling is lowered while more than this share of requests is refused anew (5%)"`
	Least    percent  `yaml:"least" about:"it is never lowered below this share of itself (50%)"`
	Step     percent  `yaml:"step" about:"by how much it moves at once (10%)"`
	Cooldown duration `yaml:"cooldown" about:"the least time between two moves (60s)"`
}

type quotaSpec struct {
	_       struct{} `block:"a quota" like:"quota: {reserve: 20%}"`
	Reserve percent  `yaml:"reserve" about:"when no more than this share of a limit is left, requests wait"`
}

type limitsSpec struct {
	_                struct{} `block:"limits" like:"limits: {body: 8MiB}"`
	RequestTimeout   duration `yaml:"request_timeout" about:"for a whole answer, body included (60s)"`
	HeaderTimeout    duration `yaml:"header_timeout" about:"to the first byte of an answer (30s)"`
	Body             size     `yaml:"body" about:"the largest body (64MiB)"`
	Record           size     `yaml:"record" about:"the largest record (8MiB); a larger one is put in quarantine"`
	Headers          size     `yaml:"headers" about:"the largest header of an answer (1MiB)"`
	Cursor           size     `yaml:"cursor" about:"the longest cursor (16KiB)"`
	PagesWithoutNew  count    `yaml:"pages_without_new_record" about:"a walk ends after so many pages in a row that bring nothing new (3)"`
	Attempts         count    `yaml:"attempts" about:"how often one request is sent at most (5)"`
	LongestRetryWait duration `yaml:"longest_retry_after" about:"a longer wait that the provider asks for ends the run (5m)"`
}

type defaultsSpec struct {
	_       struct{}        `block:"defaults"`
	Query   ordered[scalar] `yaml:"query" about:"parameters of every request"`
	Headers ordered[scalar] `yaml:"headers" about:"headers of every request"`
	Page    *pageSpec       `yaml:"page" about:"how lists are cut into pages"`
	Key     keySpec         `yaml:"key" about:"the path of what is unique to a record"`
	Records path            `yaml:"records" about:"the path of the array of records; the body by default"`
	On      []ruleSpec      `yaml:"on" about:"rules for what a response means"`
}

type streamSpec struct {
	_       struct{}        `block:"a stream"`
	Get     template        `yaml:"get" about:"the path below base_url, or a whole URL"`
	Records path            `yaml:"records" about:"the path of the array of records; the body by default. With role: detail it may be one object"`
	Key     keySpec         `yaml:"key" about:"the path of what is unique to a record; a list for a composite key"`
	Query   ordered[scalar] `yaml:"query" about:"parameters; null takes a default away"`
	Headers ordered[scalar] `yaml:"headers" about:"sent with every request of the stream"`
	Since   *sinceSpec      `yaml:"since" about:"how to ask for changes only"`
	Page    *pageSpec       `yaml:"page" about:"how the list is cut into pages; required for a list"`
	Each    ordered[scalar] `yaml:"each" about:"one walk for each record of another stream: a name, and the field of the parent it is bound to"`
	Role    scalar          `yaml:"role" about:"list (the default), or detail: a failure costs one detail, never the stream"`
	Route   name            `yaml:"route" about:"the name of what the provider counts this stream under"`
	Weight  number          `yaml:"weight" about:"how many requests one of this stream counts as, up to 1000"`
	On      []ruleSpec      `yaml:"on" about:"rules for what a response means"`
}

type sinceSpec struct {
	_        struct{} `block:"since" like:"since: {field: updated_at, param: since, order: asc}"`
	At       span     // where it stands
	Field    path     `yaml:"field" about:"the path in a record of when it changed: a time, a number, or text that sorts"`
	Param    scalar   `yaml:"param" about:"the parameter that takes the mark; or use ${since} in query"`
	Start    template `yaml:"start" about:"the mark of the first walk; everything by default"`
	Order    scalar   `yaml:"order" about:"asc if the list is sorted by field, oldest first; none by default"` // none (the default) or asc
	Lookback duration `yaml:"lookback" about:"ask from that much earlier; required with order: none"`
	Format   scalar   `yaml:"format" about:"send the mark as rfc3339, date, unix or unix_ms; as received by default"`
}

// A pageSpec has exactly one of its fields.
type pageSpec struct {
	_          struct{}     `block:"page" like:"page: {link_header: next}, or page: {none: true}"`
	At         span         // where it stands
	None       flag         `yaml:"none" about:"true: there is one page only"`
	LinkHeader scalar       `yaml:"link_header" about:"the relation of the Link header that leads on: next"`
	NextURL    *nextURLSpec `yaml:"next_url" about:"the path of the URL of the next page"`
	Cursor     *cursorSpec  `yaml:"cursor" about:"a token in the body that is sent with the next request"`
	Number     *numberSpec  `yaml:"number" about:"pages counted by number"`
	Offset     *offsetSpec  `yaml:"offset" about:"pages counted in records"`
	LastID     *lastIDSpec  `yaml:"last_id" about:"the next page begins after the last record"`
}

type nextURLSpec struct {
	_        struct{} `block:"page: next_url"`
	Path     path     `yaml:"path" about:"the path of the URL in the body"` // also written next_url: path
	Optional flag     `yaml:"optional" about:"true: the last page may have nothing at the path"`
}

type cursorSpec struct {
	_        struct{} `block:"page: cursor" like:"cursor: {from: next_cursor, param: cursor}"`
	From     path     `yaml:"from" about:"the path of the token in the body"`
	Param    scalar   `yaml:"param" about:"the parameter that takes it"`
	More     path     `yaml:"more" about:"the path of what is true while there is more"`
	Optional flag     `yaml:"optional" about:"true: the last page may have nothing at the path"`
}

type numberSpec struct {
	_          struct{} `block:"page: number" like:"number: {param: page}"`
	Param      scalar   `yaml:"param" about:"the parameter that takes the number"`
	Start      natural  `yaml:"start" about:"the number of the first page (1)"`
	SizeParam  scalar   `yaml:"size_param" about:"the parameter that takes the size"`
	Size       count    `yaml:"size" about:"records on a page"`
	TotalPages path     `yaml:"total_pages" about:"the path of how many pages there are"`
}

type offsetSpec struct {
	_          struct{} `block:"page: offset" like:"offset: {param: offset, limit_param: limit, limit: 100}"`
	Param      scalar   `yaml:"param" about:"the parameter that takes the offset"`
	LimitParam scalar   `yaml:"limit_param" about:"the parameter that takes the limit"`
	Limit      count    `yaml:"limit" about:"records on a page"`
	Total      path     `yaml:"total" about:"the path of how many records there are"`
}

type lastIDSpec struct {
	_     struct{} `block:"page: last_id" like:"last_id: {param: after, field: id}"`
	Param scalar   `yaml:"param" about:"the parameter that takes the last id"`
	Field path     `yaml:"field" about:"the path of the id in a record"`
	More  path     `yaml:"more" about:"the path of what is true while there is more"`
}

type ruleSpec struct {
	_       struct{}            `block:"a rule" like:"{status: [404], verdict: gone}"`
	At      span                // where it stands
	Status  []count             `yaml:"status" about:"any of these statuses"`
	Header  ordered[headerSpec] `yaml:"header" about:"tests of headers, all of which hold"`
	Body    scalar              `yaml:"body" about:"a predicate on body, status and header"`
	Verdict scalar              `yaml:"verdict" about:"ok, retry, throttle, gap, gone, stop or fail"` // in on; a throttle rule has none
}

// A headerSpec tests one header: equal to a text, or a predicate on it.
type headerSpec struct {
	_    struct{} `block:"a header test"`
	When scalar   `yaml:"when" about:"a predicate on the value"`
	is   scalar   // written as a single value instead of a block
}
