// Package language is the language of connector files, block by block: its keys,
// the words that may stand there, its schema, and how each block is read.
package language

import (
	"collect/connectors/declarative/internal/notation"
	"collect/internal/yamlfile"
)

// The language, block by block. The reader of these structs is strict: a key
// that is not here is an error, and so is a value of another shape. The name
// of a block, for messages, is the tag of its blank field; beside it is how the
// block is written, for who wrote a single value in its place. What a key means
// is said in its tags and nowhere else, for the schema and for the tables of
// docs/connectors.md: about it, what holds without it as default, and for the
// page alone more, or the form of a way of paging. What a person types stands in
// single quotes.

// A Document is a whole connector file.
type Document struct {
	_         struct{}                     `block:"a connector file" hint:"rate rates rps rate_limit rate_limits limit limits requests_per_second max_rate throttle budget budgets ceiling ceilings throttle concurrency: the pace belongs to the provider; write under provider: ceiling: {per_second: 4}"`
	Connector name                         `yaml:"connector" default:"required" about:"the name to run it by"`
	Params    yamlfile.Ordered[paramSpec]  `yaml:"params" default:"none" about:"what a user may or must give: '--param', or 'params' in collect.yaml" more:"; see below"`
	Secrets   yamlfile.Ordered[secretSpec] `yaml:"secrets" default:"none" about:"where credentials come from; none is written into the file"`
	Provider  ProviderSpec                 `yaml:"provider" default:"required" about:"the API: its address, its account and its pace"`
	Defaults  defaultsSpec                 `yaml:"defaults" default:"none" about:"what all streams have that do not say otherwise" more:": 'query', 'headers', 'page', 'key', 'records', 'on'"`
	Streams   yamlfile.Ordered[StreamSpec] `yaml:"streams" default:"required" about:"what can be collected: the kinds of records, by name"`
}

type paramSpec struct {
	_        struct{}        `block:"a parameter" like:"org: {type: string, required: true}"`
	Type     yamlfile.Scalar `yaml:"type" default:"'string'" about:"'string', 'int', 'number', 'bool', or 'date' (a date or an RFC 3339 time)"`
	Required yamlfile.Flag   `yaml:"required" default:"'false'" about:"without a value, the connector cannot run"`
	Default  yamlfile.Scalar `yaml:"default" default:"none" about:"its value if none is given"`
	About    yamlfile.Scalar `yaml:"about" default:"none" about:"one line for people about the connector"`
}

type secretSpec struct {
	_        struct{}       `block:"a secret" like:"token: {env: ACME_TOKEN}"`
	Env      yamlfile.Texts `yaml:"env" default:"required, one of four" about:"the environment variable that holds it; a list for several accounts" more:"; see Several tokens"`
	File     yamlfile.Texts `yaml:"file" default:"required, one of four" about:"the file that holds it, or a list"`
	Command  yamlfile.Texts `yaml:"command" default:"required, one of four" about:"the command that prints it, or a list"`
	Keyring  yamlfile.Texts `yaml:"keyring" default:"required, one of four" about:"the name of the entry of collect in the keyring of the user that holds it, or a list" more:"; see below"`
	Rotate   yamlfile.Flag  `yaml:"rotate" default:"'false'" about:"its provider replaces it when it is used, and the new one is written to its 'file'" more:"; see OAuth 2"`
	Optional yamlfile.Flag  `yaml:"optional" default:"'false'" about:"without it, requests go out without a credential"`
}

type ProviderSpec struct {
	_              struct{}                          `block:"a provider" hint:"rate rates rps rate_limit rate_limits limit requests_per_second max_rate budget budgets ceilings requests_per_day ceiling_per_second: the most that may be asked for is written here as ceiling: {per_second: 4}"`
	Name           name                              `yaml:"name" default:"the connector's" about:"rate, budgets, breaker and freeze belong to it, or without a name to the host, and the account"`
	BaseURL        notation.Template                 `yaml:"base_url" default:"required" about:"where the API is; may hold params, or be one" more:": 'https://api.acme.test/v1'"`
	Origins        []notation.Template               `yaml:"origins" default:"none" about:"further origins that may see the credential" more:": '[https://uploads.acme.test]'"`
	Auth           *AuthSpec                         `yaml:"auth" default:"'none'" about:"how requests are authenticated" more:": '{bearer: \"${secrets.token}\"}', or another way; see Authentication. Beside it, 'probe: /me'; see Probe"`
	Turns          yamlfile.Scalar                   `yaml:"turns" default:"'request'" about:"with several tokens, who takes turns: each 'request', or each 'walk' where the provider binds cursors to a token" more:"; see Several tokens"`
	TLS            *TLSSpec                          `yaml:"tls" default:"none" about:"a client certificate, and authorities that a server's may be signed by beside those of this machine" more:": '{certificate: \"${secrets.cert}\", key: \"${secrets.key}\", ca: \"${secrets.ca}\"}'; see Client certificates"`
	Headers        yamlfile.Ordered[yamlfile.Scalar] `yaml:"headers" default:"'Accept: application/json'" about:"sent with every request, also to other origins; credentials cannot stand here"`
	Ceiling        CeilingSpec                       `yaml:"ceiling" default:"none" about:"the most that is ever asked for; all its windows hold at once" more:": '{per_second: 2.5, per_minute: 100, per_hour: 5000, per_day: 100000}'; each leaves 50 ms of room, see Pace"`
	StartPerSecond yamlfile.Number                   `yaml:"start_per_second" default:"the client's" about:"the pace of the first run, in requests a second"`
	Pace           yamlfile.Scalar                   `yaml:"pace" default:"'on'" about:"'off' for a server that you own"`
	PaceSpec
	On403    yamlfile.Scalar `yaml:"on_403" default:"'freeze'" about:"a 403 that nothing explains: 'freeze' all calls, 'hold' them until an operator releases, or make it a 'gap'"`
	Throttle []RuleSpec      `yaml:"throttle" default:"none" about:"rules for what means \"slow down\" here" more:"; see Rules"`
	Limits   limitsSpec      `yaml:"limits" default:"those below" about:"what one response may cost"`
}

// A PaceSpec is what collect.yaml may say of a provider, too, in the same words.
type PaceSpec struct {
	Law         yamlfile.Scalar `yaml:"law" default:"'plateau'" about:"how the pace is learned: 'plateau', 'aimd', or 'interval-step'" more:"; see [pacing-score.md](pacing-score.md)"`
	Concurrency concurrencySpec `yaml:"concurrency" default:"as many as the pace needs, at most 8" about:"requests in flight at once" more:": '{max: 8, law: aimd}'; see Pace"`
	Clamp       clampSpec       `yaml:"clamp" default:"on" about:"'off', or how far the ceiling gives way while too much is refused" more:": '{burn: 5%, least: 50%, step: 10%, cooldown: 60s}'; see Pace"`
	Quota       quotaSpec       `yaml:"quota" default:"none" about:"a share of each long limit that is left for people" more:": '{reserve: 20%}'; see Pace"`
}

type AuthSpec struct {
	_       struct{}          `block:"auth" like:"auth: {bearer: '${secrets.token}'}"`
	At      yamlfile.Span     // where it stands
	None    yamlfile.Flag     `yaml:"none" about:"true: no authentication"` // also written auth: none
	Bearer  notation.Template `yaml:"bearer" about:"the token after \"Authorization: Bearer\""`
	Basic   *basicSpec        `yaml:"basic" about:"user and password"`
	APIKey  apiKeys           `yaml:"api_key" about:"a key in a header, in the query or in a cookie, or a list of keys that are sent together"`
	OAuth2  *Oauth2Spec       `yaml:"oauth2" about:"access tokens that are got when they are needed, and renewed"`
	Session *SessionSpec      `yaml:"session" about:"the token of a session that a user and a password open"`
	JWT     *JWTSpec          `yaml:"jwt" about:"a token that is signed here, after \"Authorization: Bearer\""`
	HMAC    *HMACSpec         `yaml:"hmac" about:"a signature over each request, by the recipe of a provider"`
	AWS     *AWSSpec          `yaml:"aws" about:"Signature Version 4 of Amazon Web Services"`
	Probe   *ProbeSpec        `yaml:"probe" about:"what only the right account may ask for: it is asked once a run, before the first page"`
}

// A TLSSpec is what connections to the origins of the provider need, and to where
// its tokens are got.
type TLSSpec struct {
	_           struct{}          `block:"tls" like:"tls: {certificate: '${secrets.cert}', key: '${secrets.key}'}"`
	At          yamlfile.Span     // where it stands
	Certificate notation.Template `yaml:"certificate" default:"none" about:"a secret, as it is: the client's certificate in PEM, and behind it those of the authorities between"`
	Key         notation.Template `yaml:"key" default:"none" about:"a secret, as it is: the private key of the certificate in PEM, without a passphrase"`
	CA          notation.Template `yaml:"ca" default:"those of this machine" about:"a secret, as it is: certificates of authorities in PEM that may have signed the server's, too"`
}

// A ProbeSpec is also written as its path alone.
type ProbeSpec struct {
	_    struct{}          `block:"a probe" like:"probe: /me, or probe: {get: /me, when: 'body.id != nil'}"`
	At   yamlfile.Span     // where it stands
	Get  notation.Template `yaml:"get" default:"required" about:"the path below 'base_url'; may hold params"`
	When yamlfile.Scalar   `yaml:"when" default:"any page" about:"a predicate on the answer, with the names of a rule's 'body'"`
}

type basicSpec struct {
	_        struct{}          `block:"basic authentication"`
	User     notation.Template `yaml:"user" about:"the user, often a secret"`
	Password notation.Template `yaml:"password" about:"the password, a secret"`
}

// An APIKeySpec is one key, and where it stands in a request.
type APIKeySpec struct {
	_      struct{}          `block:"an API key"`
	At     yamlfile.Span     // where it stands
	Header yamlfile.Scalar   `yaml:"header" about:"the header that carries the key"`
	Query  yamlfile.Scalar   `yaml:"query" about:"the parameter that carries the key"`
	Cookie yamlfile.Scalar   `yaml:"cookie" about:"the cookie that carries the key"`
	Value  notation.Template `yaml:"value" about:"the key, a secret"`
	Prefix yamlfile.Scalar   `yaml:"prefix" about:"what stands before the key"`
}

// A JWTSpec is a token that is signed here.
type JWTSpec struct {
	_         struct{}                            `block:"jwt" like:"jwt: {key: '${secrets.key}', claims: {iss: app}}"`
	At        yamlfile.Span                       // where it stands
	Key       notation.Template                   `yaml:"key" default:"required" about:"a secret, as it is: a private key in PEM, or with 'HS256' what both sides know"`
	Algorithm yamlfile.Scalar                     `yaml:"algorithm" default:"'RS256'" about:"'RS256', 'ES256' or 'HS256'"`
	KeyID     notation.Template                   `yaml:"key_id" default:"none" about:"which key it is: 'kid' in the header of the token"`
	Claims    yamlfile.Ordered[notation.Template] `yaml:"claims" default:"none" about:"what the token says beside 'iat' and 'exp'" more:": '{iss: my-app, aud: https://api.acme.test}'"`
	Lifetime  yamlfile.Duration                   `yaml:"lifetime" default:"'5m'" about:"how long a token is valid; another one is signed after half of it"`
}

// An HMACSpec is a signature over each request.
type HMACSpec struct {
	_          struct{}          `block:"hmac" like:"hmac: {recipe: binance, key: '${secrets.key}', secret: '${secrets.secret}'}"`
	At         yamlfile.Span     // where it stands
	Recipe     yamlfile.Scalar   `yaml:"recipe" default:"required" about:"'binance' or 'coinbase'"`
	Key        notation.Template `yaml:"key" default:"required" about:"the key, which is sent"`
	Secret     notation.Template `yaml:"secret" default:"required" about:"the secret, which is not"`
	Passphrase notation.Template `yaml:"passphrase" default:"none" about:"the passphrase, for 'coinbase'"`
}

// An AWSSpec is a signature of Amazon Web Services.
type AWSSpec struct {
	_            struct{}          `block:"aws" like:"aws: {access_key: '${secrets.id}', secret_key: '${secrets.key}', region: eu-central-1, service: execute-api}"`
	At           yamlfile.Span     // where it stands
	AccessKey    notation.Template `yaml:"access_key" default:"required" about:"the id of the key"`
	SecretKey    notation.Template `yaml:"secret_key" default:"required" about:"the key, a secret"`
	SessionToken notation.Template `yaml:"session_token" default:"none" about:"a secret, for keys that do not last"`
	Region       notation.Template `yaml:"region" default:"required" about:"the region, such as 'eu-central-1'"`
	Service      yamlfile.Scalar   `yaml:"service" default:"required" about:"the name that the service signs by, such as 'execute-api' or 's3'"`
}

type Oauth2Spec struct {
	_            struct{}                            `block:"oauth2"`
	At           yamlfile.Span                       // where it stands
	TokenURL     notation.Template                   `yaml:"token_url" default:"required" about:"where tokens are granted; it may be another host than the API's, and hold params"`
	ClientID     notation.Template                   `yaml:"client_id" default:"required, or 'assertion'" about:"the id of the client: text, a param or a secret"`
	ClientSecret notation.Template                   `yaml:"client_secret" default:"none" about:"a secret. A public client has none, and then needs a 'refresh_token'"`
	RefreshToken notation.Template                   `yaml:"refresh_token" default:"none" about:"a secret, as it is. Without it the client asks for itself (the grant 'client_credentials')"`
	Assertion    *JWTSpec                            `yaml:"assertion" default:"none" about:"a token that is signed here is what an access token is granted for (RFC 7523), with the keys of 'jwt'; then no 'client_id' is needed"`
	ClientAuth   yamlfile.Scalar                     `yaml:"client_auth" default:"'basic'" about:"'basic' sends id and secret by HTTP Basic, 'body' as fields"`
	Scope        notation.Template                   `yaml:"scope" default:"none" about:"what to ask for, with spaces between"`
	Fields       yamlfile.Ordered[notation.Template] `yaml:"fields" default:"none" about:"further fields of the request for a token" more:", such as '{audience: https://api.books.test}'"`

	// How a person signs in, for the first refresh token.
	AuthorizeURL notation.Template `yaml:"authorize_url" default:"none" about:"where a person signs in with a browser; it may hold params, and a query" more:"; see Signing in"`
	DeviceURL    notation.Template `yaml:"device_url" default:"none" about:"where a code for any device is asked for; it may hold params" more:"; see Signing in"`
	RevokeURL    notation.Template `yaml:"revoke_url" default:"none" about:"where a refresh token is taken back; it may hold params" more:"; see Signing in"`
	Redirect     yamlfile.Scalar   `yaml:"redirect" default:"'http://127.0.0.1/callback'" about:"where the browser comes back, on this machine; without a port, at any that is free"`
	PKCE         yamlfile.Scalar   `yaml:"pkce" default:"'on'" about:"'off' for a provider that refuses RFC 7636"`
}

// A SessionSpec is a login, and what becomes of the token that it gives.
type SessionSpec struct {
	_        struct{}                            `block:"session" like:"session: {post: /login, json: {user: me, password: '${secrets.password}'}, token: data.token}"`
	At       yamlfile.Span                       // where it stands
	Post     notation.Template                   `yaml:"post" default:"required" about:"the path of the login below 'base_url', or a whole URL; may hold params"`
	JSON     *loginBody                          `yaml:"json" default:"required, one of two" about:"a mapping or a list that is sent as JSON; its texts may hold params and secrets"`
	Form     yamlfile.Ordered[notation.Template] `yaml:"form" default:"required, one of two" about:"fields that are sent as a form; they may hold params and secrets"`
	Token    notation.Path                       `yaml:"token" default:"required, one of three" about:"the path of the token in the answer"`
	Header   yamlfile.Scalar                     `yaml:"header" default:"required, one of three" about:"the header of the answer that has the token"`
	Cookie   yamlfile.Scalar                     `yaml:"cookie" default:"required, one of three" about:"the cookie of the answer that is the token"`
	Send     SendSpec                            `yaml:"send" default:"'bearer', or the cookie that it was" about:"how the token is sent: 'bearer', '{header: X-Token}' or '{cookie: NAME}'"`
	Lifetime yamlfile.Duration                   `yaml:"lifetime" default:"until a 401" about:"how long a session is good for at most; then another one is opened"`
}

// A SendSpec is also written as the word bearer, or cookie.
type SendSpec struct {
	_      struct{}        `block:"send" like:"send: bearer, or send: {header: X-Token}"`
	At     yamlfile.Span   // where it stands
	Word   yamlfile.Scalar // written instead of a block
	Header yamlfile.Scalar `yaml:"header" about:"the header that carries the token"`
	Prefix yamlfile.Scalar `yaml:"prefix" about:"what stands before it there"`
	Cookie yamlfile.Scalar `yaml:"cookie" about:"the cookie that carries the token"`
}

type CeilingSpec struct {
	_         struct{}        `block:"a ceiling" like:"ceiling: {per_second: 4}"`
	PerSecond yamlfile.Number `yaml:"per_second" about:"requests in any second; may be less than one"`
	PerMinute yamlfile.Count  `yaml:"per_minute" about:"requests in any minute"`
	PerHour   yamlfile.Count  `yaml:"per_hour" about:"requests in any hour"`
	PerDay    yamlfile.Count  `yaml:"per_day" about:"requests in any 24 hours"`
}

type concurrencySpec struct {
	_   struct{}        `block:"a concurrency" like:"concurrency: {max: 4}"`
	At  yamlfile.Span   // where it stands
	Max yamlfile.Count  `yaml:"max" default:"required" about:"the most requests in flight at once, up to 64"`
	Law yamlfile.Scalar `yaml:"law" default:"'aimd'" about:"how the bound moves below 'max': 'aimd', 'mimd', 'gradient' or 'fixed'"`
}

type clampSpec struct {
	_        struct{}          `block:"a clamp" like:"clamp: {least: 60%}, or clamp: off; without it, it is on"`
	Off      yamlfile.Flag     // written clamp: off
	Burn     yamlfile.Percent  `yaml:"burn" default:"'5%'" about:"the ceiling is lowered while more than this share of requests is refused anew"`
	Least    yamlfile.Percent  `yaml:"least" default:"'50%'" about:"it is never lowered below this share of itself"`
	Step     yamlfile.Percent  `yaml:"step" default:"'10%'" about:"by how much it moves at once"`
	Cooldown yamlfile.Duration `yaml:"cooldown" default:"'60s'" about:"the least time between two moves"`
}

type quotaSpec struct {
	_       struct{}         `block:"a quota" like:"quota: {reserve: 20%}"`
	Reserve yamlfile.Percent `yaml:"reserve" about:"when no more than this share of a limit is left, requests wait"`
}

type limitsSpec struct {
	_                struct{}          `block:"limits" like:"limits: {body: 8MiB}"`
	RequestTimeout   yamlfile.Duration `yaml:"request_timeout" default:"'60s'" about:"for a whole answer, body included"`
	HeaderTimeout    yamlfile.Duration `yaml:"header_timeout" default:"'30s'" about:"to the first byte of an answer; every attempt but the last may be given up sooner"`
	Body             yamlfile.Size     `yaml:"body" default:"'64MiB'" about:"the largest body, inflated; an element of a page counts as 256 bytes at least"`
	Record           yamlfile.Size     `yaml:"record" default:"'8MiB'" about:"the largest record; of a larger one quarantine keeps the length, the SHA-256 and the first 64 KiB"`
	Headers          yamlfile.Size     `yaml:"headers" default:"'1MiB'" about:"the largest header of an answer"`
	Cursor           yamlfile.Size     `yaml:"cursor" default:"'16KiB'" about:"the longest cursor"`
	PagesWithoutNew  yamlfile.Count    `yaml:"pages_without_new_record" default:"'3'" about:"after this many pages in a row without a new record a walk ends"`
	Pages            yamlfile.Count    `yaml:"pages" default:"any number" about:"the most pages of one walk in one run"`
	Attempts         yamlfile.Count    `yaml:"attempts" default:"'5'" about:"the most attempts of one request; more may follow if a provider that has answered is away, see longest_retry_after"`
	LongestRetryWait yamlfile.Duration `yaml:"longest_retry_after" default:"'5m'" about:"the longest wait for a Retry-After, a used-up ceiling or a provider that no longer answers; a longer one ends the run"`
}

type defaultsSpec struct {
	_       struct{}                          `block:"defaults"`
	Query   yamlfile.Ordered[Values]          `yaml:"query" about:"parameters of every request"`
	Headers yamlfile.Ordered[yamlfile.Scalar] `yaml:"headers" about:"headers of every request"`
	Page    *pageSpec                         `yaml:"page" about:"how lists are cut into pages"`
	Key     keySpec                           `yaml:"key" about:"the path of the value that is unique to a record"`
	Records RecordsSpec                       `yaml:"records" default:"the body" about:"the path of the array of records"`
	On      []RuleSpec                        `yaml:"on" about:"rules for what a response means"`
}

type StreamSpec struct {
	_ struct{} `block:"a stream"`
	RequestSpec
	Records RecordsSpec                       `yaml:"records" default:"the body" about:"the path of the array of records. With 'role: detail' it may be one object" more:". 'null' is the body, where 'defaults' names a path. For other shapes, see records"`
	Format  FormatSpec                        `yaml:"format" default:"'json'" about:"how a page is written: 'json', 'jsonl', 'csv' or 'xml'" more:"; see format"`
	Archive ArchiveSpec                       `yaml:"archive" default:"none" about:"what a page is packed in: 'gzip' or 'zip'" more:". Where an answer is gzip by its header, nothing need be said"`
	Fields  []notation.Path                   `yaml:"fields" default:"all" about:"the paths that are kept of each record; the rest is never stored" more:"; see fields and drop"`
	Drop    []notation.Path                   `yaml:"drop" default:"none" about:"the paths that are taken out of each record before anything is stored"`
	Map     yamlfile.Scalar                   `yaml:"map" default:"none" about:"a program of jq that makes the records that are stored of each one that was sent" more:"; see map"`
	Key     keySpec                           `yaml:"key" default:"required" about:"the path of the value that is unique to a record; a list for a composite key, '[repo, number]'" more:". A name that 'each' binds means that binding"`
	Deleted yamlfile.Scalar                   `yaml:"deleted" default:"none" about:"a predicate on 'record': such a record says that it was deleted" more:", such as 'record.deleted == true'; see Deleted records"`
	Deletes yamlfile.Scalar                   `yaml:"deletes" default:"not told" about:"'sweep': what a complete walk no longer has is marked as deleted" more:"; see Deleted records"`
	Since   *SinceSpec                        `yaml:"since" default:"none" about:"how to ask for changes only"`
	Job     *JobSpec                          `yaml:"job" default:"none" about:"a job of the provider that makes the records: it is created, asked for until it is done, and its result read" more:"; see job"`
	Windows *WindowsSpec                      `yaml:"windows" default:"none" about:"how to ask for the list in windows of time, one after the other"`
	Page    *pageSpec                         `yaml:"page" default:"required for a list" about:"how the list is cut into pages"`
	Total   SourceSpec                        `yaml:"total" default:"found" about:"the path of how many records the list has, '{header: X-Count}', or 'ignore'" more:"; see What shows that nothing is missing"`
	Expect  *ExpectSpec                       `yaml:"expect" default:"none" about:"what a walk has at least, and which fields are what: '{records: \">= 1\", fields: {id: string}}'" more:"; see Records that change their nature"`
	Each    yamlfile.Ordered[yamlfile.Scalar] `yaml:"each" default:"none" about:"one walk for each record of another stream: names, and the fields of the parent they are bound to"`
	Role    yamlfile.Scalar                   `yaml:"role" default:"'list'" about:"'list', or 'detail': a failure costs one detail, never the stream"`
	Route   name                              `yaml:"route" default:"the route of all" about:"the name of what the provider counts this stream under" more:": 'search'"`
	Weight  yamlfile.Number                   `yaml:"weight" default:"'1'" about:"how many requests one of this stream counts as, up to 1000. A ceiling counts it rounded up"`
	On      []RuleSpec                        `yaml:"on" default:"none" about:"rules for what a response means" more:"; see Rules"`
}

// A JobSpec is a job of the provider, which makes what a stream is.
type JobSpec struct {
	_  struct{}      `block:"a job" like:"job: {post: /exports, id: id, poll: '/exports/${job}', done: 'body.state == \"done\"'}"`
	At yamlfile.Span // where it stands
	RequestSpec
	ID      notation.Path       `yaml:"id" default:"required" about:"the path of the id of the job, in the answer that creates it"`
	Poll    PollSpec            `yaml:"poll" default:"required" about:"the path that says how far the job is" more:": '/exports/${job}'; or a request, '{post: /status, json: {id: \"${job}\"}}'"`
	Done    yamlfile.Scalar     `yaml:"done" default:"required" about:"a predicate on the answer to a poll, with the names of a rule's 'body': the result is there"`
	Failed  yamlfile.Scalar     `yaml:"failed" default:"none" about:"another one: there will be no result"`
	Every   yamlfile.Duration   `yaml:"every" default:"'30s'" about:"the least time between two polls"`
	Result  notation.Path       `yaml:"result" default:"none" about:"the path of the address of the result, in the answer to the last poll; then the stream has 'get: ${result}'"`
	Origins []notation.Template `yaml:"origins" default:"none" about:"where a result may be besides the API; no credential is sent there"`
}

// A PollSpec is also written as the path of a GET alone.
type PollSpec struct {
	_  struct{}      `block:"a poll" like:"poll: '/exports/${job}', or poll: {post: /status, json: {id: '${job}'}}"`
	At yamlfile.Span // where it stands
	RequestSpec
}

// A FormatSpec is also written as its name alone.
type FormatSpec struct {
	_         struct{}         `block:"a format" like:"format: csv, or format: {as: csv, separator: ';'}"`
	At        yamlfile.Span    // where it stands
	As        yamlfile.Scalar  `yaml:"as" default:"'json'" about:"'json', 'jsonl' (a record on each line), 'csv' or 'xml'"`
	Separator yamlfile.Scalar  `yaml:"separator" default:"a comma" about:"of CSV: the character between two values, or 'tab'"`
	Skip      yamlfile.Natural `yaml:"skip" default:"'0'" about:"of CSV: how many lines stand above the first row"`
}

// An ArchiveSpec is also written as its name alone.
type ArchiveSpec struct {
	_     struct{}        `block:"an archive" like:"archive: gzip, or archive: {as: zip, entry: '*.csv'}"`
	At    yamlfile.Span   // where it stands
	As    yamlfile.Scalar `yaml:"as" default:"required" about:"'gzip' or 'zip'"`
	Entry yamlfile.Scalar `yaml:"entry" default:"the only one" about:"of zip: the name of the file in it, or a pattern for it" more:": '*.csv'"`
}

// A RecordsSpec is also written as its path alone.
type RecordsSpec struct {
	_       struct{}        `block:"records" like:"records: data.items, or records: {at: rates, map: currency}"`
	At      yamlfile.Span   // where it stands
	Path    yamlfile.Scalar `yaml:"at" default:"the body" about:"the path; '[]' behind a name goes into each element of an array" more:": 'pages[].revisions'"`
	One     yamlfile.Flag   `yaml:"one" default:"'false'" about:"true: what stands there is one record, and no list"`
	Map     yamlfile.Scalar `yaml:"map" default:"none" about:"what stands there is an object, and each member a record: the field that gets the member's name"`
	Columns ColumnsSpec     `yaml:"columns" default:"none" about:"the records are arrays: the names of their values, 'first' for those in the first one, or the path of an array of names"`
	Value   yamlfile.Scalar `yaml:"value" default:"none" about:"the records are text or numbers, or with 'map' anything: the field that gets it"`
	With    []notation.Path `yaml:"with" default:"none" about:"fields beside the list that belong to each record" more:": '[base, meta.date]' become 'base' and 'date'"`
}

// A RequestSpec is what is asked for.
type RequestSpec struct {
	Get     notation.Template                 `yaml:"get" default:"required, one of three" about:"the path below 'base_url', or a whole URL"`
	Post    notation.Template                 `yaml:"post" default:"required, one of three" about:"the same, asked for with POST" more:"; see Requests with a body"`
	Put     notation.Template                 `yaml:"put" default:"required, one of three" about:"the same, asked for with PUT"`
	Query   yamlfile.Ordered[Values]          `yaml:"query" default:"none" about:"parameters: '{state: all}'; a list is sent as one parameter several times, 'null' takes a default away"`
	Headers yamlfile.Ordered[yamlfile.Scalar] `yaml:"headers" default:"none" about:"sent with every request of the stream, as in 'provider'"`
	JSON    *bodySpec                         `yaml:"json" default:"none" about:"a mapping or a list that is sent as JSON; its texts may hold '${…}'"`
	Form    yamlfile.Ordered[Values]          `yaml:"form" default:"none" about:"fields that are sent as a form, written as 'query' is"`
	GraphQL *GraphQLSpec                      `yaml:"graphql" default:"none" about:"a query and its variables" more:": '{query: …, variables: {…}}'"`
}

type GraphQLSpec struct {
	_         struct{}               `block:"graphql" like:"graphql: {query: '{ viewer { login } }'}"`
	At        yamlfile.Span          // where it stands
	Query     yamlfile.Scalar        `yaml:"query" default:"required" about:"the document, with nothing replaced in it"`
	Variables yamlfile.Ordered[JSON] `yaml:"variables" default:"none" about:"the values of its variables, written as 'json' is"`
}

type SinceSpec struct {
	_        struct{}          `block:"since" like:"since: {field: updated_at, param: since, order: asc}"`
	At       yamlfile.Span     // where it stands
	Field    notation.Path     `yaml:"field" default:"required" about:"the path in a record of when it changed: a time, a number, or text that sorts"`
	Param    yamlfile.Scalar   `yaml:"param" default:"none" about:"the parameter that takes the mark; or use '${since}' in 'query'"`
	Start    notation.Template `yaml:"start" default:"everything" about:"the mark of the first walk" more:": '\"${params.start}\"'"`
	Order    yamlfile.Scalar   `yaml:"order" default:"'none'" about:"'asc' if the list is sorted by 'field', oldest first; 'desc' if newest first, and read until what is known"` // none (the default) or asc
	Lookback yamlfile.Duration `yaml:"lookback" default:"none" about:"ask from that much earlier, once a walk; required unless 'order: asc'. Numbers are seconds, above 1e11 milliseconds"`
	Format   yamlfile.Scalar   `yaml:"format" default:"as received" about:"send the mark as 'rfc3339', 'date', 'unix' (seconds) or 'unix_ms'"`
}

type WindowsSpec struct {
	_        struct{}          `block:"windows" like:"windows: {from: 2024-01-01, step: 7d, lookback: 1h}"`
	At       yamlfile.Span     // where it stands
	From     notation.Template `yaml:"from" default:"required" about:"the start of the first window" more:": a date or a time, or '\"${params.start}\"'"`
	Until    notation.Template `yaml:"until" default:"'now'" about:"the end of the last window: a date or a time, or 'now', which is when the walk begins"`
	Step     yamlfile.Duration `yaml:"step" default:"required" about:"how wide a window is"`
	Lookback yamlfile.Duration `yaml:"lookback" default:"required" about:"how much before the end of the last finished window the next walk begins"`
	Cap      yamlfile.Count    `yaml:"cap" default:"none" about:"how many records the provider gives for one window at most: a window that has as many, or whose total says more, is halved"`
	Least    yamlfile.Duration `yaml:"least" default:"'1s'" about:"the narrowest window that is asked for" more:"; with 'format: date' it is '1d'"`
	Format   yamlfile.Scalar   `yaml:"format" default:"'rfc3339'" about:"send times as 'rfc3339', 'date', 'unix' (seconds) or 'unix_ms'"`
}

// An ExpectSpec says what the records of a stream are like, for who knows it.
type ExpectSpec struct {
	_       struct{}                          `block:"expect" like:"expect: {records: '>= 1', fields: {id: string}, drop: 50%, zero: error}"`
	At      yamlfile.Span                     // where it stands
	Records yamlfile.Scalar                   `yaml:"records" default:"none" about:"how many records a walk of the whole list has at least: '>= 1'. With fewer it is walked again, and then a 'bad_page' gap"`
	Fields  yamlfile.Ordered[yamlfile.Scalar] `yaml:"fields" default:"none" about:"fields that each record has, and what they are: 'string', 'number', 'boolean', 'object' or 'array'" more:". They are members of the record itself. A page with another record is a 'schema_drift' gap"`
	Drop    yamlfile.Scalar                   `yaml:"drop" default:"'50%' of 20 or more" about:"by how much a walk may have fewer records than the walk before without the warning 'W0604'; 'off': by any"`
	Zero    yamlfile.Scalar                   `yaml:"zero" default:"as 'drop'" about:"a walk without a record, after one that had some: 'error' leaves a 'bad_page' gap, 'off' says nothing" more:". With 'error' the list is walked again first"`
}

// A pageSpec has exactly one of its fields.
type pageSpec struct {
	_          struct{}        `block:"page" like:"page: {link_header: next}, or page: {none: true}"`
	At         yamlfile.Span   // where it stands
	None       yamlfile.Flag   `yaml:"none" form:"{none: true}" about:"there is one page only"`
	LinkHeader yamlfile.Scalar `yaml:"link_header" form:"{link_header: next}" about:"the 'Link' header with that relation"`
	NextURL    *nextURLSpec    `yaml:"next_url" form:"{next_url: links.next}" about:"the URL at a path of the body" more:"; in full, '{next_url: {path: links.next, optional: true}}'; '{next_url: {header: Next-Page}}' where a header of its own has it"`
	Cursor     *CursorSpec     `yaml:"cursor" form:"{cursor: {from: meta.next, param: cursor}}" about:"the token at 'from', sent as 'param'; with 'more: path', only while that is true" more:"; '{header: X-Next, param: cursor}' where a header has it; with 'first: \"*\"', asked for with that at first; with 'optional: true', see below"`
	Continue   *ContinueSpec   `yaml:"continue" form:"{continue: {from: continue, complete: batchcomplete}}" about:"each member of the object at 'from' is a parameter of the next request; with 'complete', an answer without that member is a part of a page" more:"; see below"`
	Relay      notation.Path   `yaml:"relay" form:"{relay: data.viewer.issues}" about:"the connection of a GraphQL answer there: 'endCursor' of its 'pageInfo', while 'hasNextPage' is true, stands where '${page}' does"`
	Number     *numberSpec     `yaml:"number" form:"{number: {param: page, start: 1, size_param: per_page, size: 100}}" about:"counted from 'start' (default 1); with 'total_pages: path' or '{header: X-Total-Pages}', up to that"`
	Offset     *offsetSpec     `yaml:"offset" form:"{offset: {param: offset, limit_param: limit, limit: 100}}" about:"counted in records, from 0; with 'total: path' or '{header: X-Total-Count}', up to that"`
	LastID     *lastIDSpec     `yaml:"last_id" form:"{last_id: {param: starting_after, field: id}}" about:"after the last record; with 'more: path', while that is true, else until a page is empty"`
	Scroll     *ScrollSpec     `yaml:"scroll" form:"{scroll: {from: _scroll_id, post: /_search/scroll, json: {scroll: 1m, scroll_id: \"${page}\"}}}" about:"a scroll that the provider keeps: all pages but the first are asked for by that request, until one is empty" more:"; see below"`
	Size       *SizeSpec       `yaml:"size" form:"{cursor: {from: meta.next, param: cursor}, size: {param: limit, from: 100}}" about:"beside one of the others: how many records a page is asked for, and fewer where that is too much" more:"; see below"`
	Delta      *DeltaSpec      `yaml:"delta" form:"{delta: {next: nextPageToken, param: pageToken, resume: nextSyncToken, resume_param: syncToken}}" about:"changes only, from where the provider's own token says that the walk before ended" more:"; see below"`
}

type nextURLSpec struct {
	_        struct{}        `block:"page: next_url"`
	Path     notation.Path   `yaml:"path" about:"the path of the URL in the body"` // also written next_url: path
	Header   yamlfile.Scalar `yaml:"header" about:"the header that has the URL"`
	Optional yamlfile.Flag   `yaml:"optional" about:"true: the last page may have nothing there"`
}

type CursorSpec struct {
	_        struct{}        `block:"page: cursor" like:"cursor: {from: next_cursor, param: cursor}"`
	From     notation.Path   `yaml:"from" about:"the path of the token in the body"`
	Header   yamlfile.Scalar `yaml:"header" about:"the header that has the token, instead of 'from'"`
	Param    yamlfile.Scalar `yaml:"param" about:"the parameter that takes it; or use '${page}'"`
	More     notation.Path   `yaml:"more" about:"the path of a value that is true while there is more"`
	Optional yamlfile.Flag   `yaml:"optional" about:"true: the last page may have nothing at the path"`
	First    yamlfile.Scalar `yaml:"first" about:"what the first page is asked for with, such as '*'"`
}

type ContinueSpec struct {
	_        struct{}      `block:"page: continue" like:"continue: {from: continue, complete: batchcomplete}"`
	From     notation.Path `yaml:"from" about:"the path of an object whose members are parameters of the next request"`
	Complete notation.Path `yaml:"complete" about:"the path of what an answer has that completes a page; one without it is a part of a page"`
}

type numberSpec struct {
	_          struct{}         `block:"page: number" like:"number: {param: page}"`
	Param      yamlfile.Scalar  `yaml:"param" about:"the parameter that takes the number; or use '${page}'"`
	Start      yamlfile.Natural `yaml:"start" default:"'1'" about:"the number of the first page"`
	SizeParam  yamlfile.Scalar  `yaml:"size_param" about:"the parameter that takes the size"`
	Size       yamlfile.Count   `yaml:"size" about:"records on a page"`
	TotalPages SourceSpec       `yaml:"total_pages" about:"the path of how many pages there are, or '{header: X-Total-Pages}'"`
	LastPage   yamlfile.Scalar  `yaml:"last_page" default:"learned" about:"'short' if a page that is shorter than 'size' is the last one"`
}

// A SourceSpec is also written as a path of the body.
type SourceSpec struct {
	_      struct{}        `block:"a total" like:"total: meta.total, or total: {header: X-Total-Count}"`
	At     yamlfile.Span   // where it stands
	Path   notation.Path   // written as a single value instead of a block
	Header yamlfile.Scalar `yaml:"header" default:"required" about:"the name of the header that tells the number"`
}

type offsetSpec struct {
	_          struct{}        `block:"page: offset" like:"offset: {param: offset, limit_param: limit, limit: 100}"`
	Param      yamlfile.Scalar `yaml:"param" about:"the parameter that takes the offset; or use '${page}'"`
	LimitParam yamlfile.Scalar `yaml:"limit_param" about:"the parameter that takes the limit"`
	Limit      yamlfile.Count  `yaml:"limit" about:"records on a page"`
	Total      SourceSpec      `yaml:"total" about:"the path of how many records there are, or '{header: X-Total-Count}'"`
	LastPage   yamlfile.Scalar `yaml:"last_page" default:"learned" about:"'short' if a page that is shorter than 'limit' is the last one"`
	Apart      yamlfile.Flag   `yaml:"apart" default:"'false'" about:"true: do not begin a page with the last record of the page before"`
}

type DeltaSpec struct {
	_           struct{}        `block:"page: delta" like:"delta: {next: nextPageToken, param: pageToken, resume: nextSyncToken, resume_param: syncToken}"`
	Next        notation.Path   `yaml:"next" about:"the path of the token of the next page; without it 'resume' leads on, until a page is empty"`
	Param       yamlfile.Scalar `yaml:"param" about:"the parameter that takes it; without one, and without '${page}' in the request, tokens are URLs"`
	Resume      notation.Path   `yaml:"resume" about:"the path, on the last page, of the token with which the next walk begins"`
	ResumeParam yamlfile.Scalar `yaml:"resume_param" default:"that of 'param'" about:"the parameter that takes it on all pages of that walk"`
	More        notation.Path   `yaml:"more" about:"the path of a value that is true while there is more"`
}

type ScrollSpec struct {
	_    struct{}          `block:"page: scroll" like:"scroll: {from: _scroll_id, post: /_search/scroll, json: {scroll: 1m, scroll_id: '${page}'}}"`
	At   yamlfile.Span     // where it stands
	From notation.Path     `yaml:"from" about:"the path of the id of the scroll, which may be another one on each page"`
	Post notation.Template `yaml:"post" about:"the path below 'base_url' that is asked for with POST"`
	JSON *bodySpec         `yaml:"json" about:"the body of that request, with the id as '${page}'"`
}

type SizeSpec struct {
	_     struct{}        `block:"page: size" like:"size: {param: limit, from: 100, least: 10}"`
	At    yamlfile.Span   // where it stands
	Param yamlfile.Scalar `yaml:"param" default:"that of 'number' or 'offset'" about:"the parameter that takes the size; or use '${size}' in the request"`
	From  yamlfile.Count  `yaml:"from" default:"that of 'number' or 'offset'" about:"how many records a page is asked for at first"`
	Least yamlfile.Count  `yaml:"least" default:"'1'" about:"the fewest that it is asked for"`
}

type lastIDSpec struct {
	_     struct{}        `block:"page: last_id" like:"last_id: {param: after, field: id}"`
	Param yamlfile.Scalar `yaml:"param" about:"the parameter that takes the last id; or use '${page}'"`
	Field notation.Path   `yaml:"field" about:"the path of the id in a record"`
	More  notation.Path   `yaml:"more" about:"the path of a value that is true while there is more"`
}

type RuleSpec struct {
	_       struct{}                     `block:"a rule" like:"{status: [404], verdict: gone}"`
	At      yamlfile.Span                // where it stands
	Status  []yamlfile.Count             `yaml:"status" about:"a list of statuses: the answer has one of them"`
	Header  yamlfile.Ordered[headerSpec] `yaml:"header" about:"tests of headers, which must all hold" more:": '{X-Left: \"0\"}' is equal to; '{X-Left: {when: int(value) < 10}}' is a predicate on 'value' and 'status'"`
	Body    yamlfile.Scalar              `yaml:"body" about:"a predicate on 'body', 'text', 'header' and 'status'" more:": the decoded JSON, the body as it came, a map with names in lower case, and the number"`
	Verdict yamlfile.Scalar              `yaml:"verdict" about:"in 'on' only: 'ok' (an error status is an empty page), 'retry', 'throttle', 'gap', 'gone', 'stop', 'fail'"` // in on; a throttle rule has none
}

// A headerSpec tests one header: equal to a text, or a predicate on it.
type headerSpec struct {
	_    struct{}        `block:"a header test"`
	When yamlfile.Scalar `yaml:"when" about:"a predicate on 'value', the text of the header, and 'status'"`
	Is   yamlfile.Scalar // written as a single value instead of a block
}
