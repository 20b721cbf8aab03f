package declarative

// The language, block by block. The reader of these structs is strict: a key
// that is not here is an error, and so is a value of another shape. The name
// of a block, for messages, is the tag of its blank field; beside it is how the
// block is written, for who wrote a single value in its place.

type document struct {
	_         struct{}            `block:"a connector file"`
	Connector name                `yaml:"connector"`
	Params    ordered[paramSpec]  `yaml:"params"`
	Secrets   ordered[secretSpec] `yaml:"secrets"`
	Provider  providerSpec        `yaml:"provider"`
	Defaults  defaultsSpec        `yaml:"defaults"`
	Streams   ordered[streamSpec] `yaml:"streams"`
}

type paramSpec struct {
	_        struct{} `block:"a parameter" like:"org: {type: string, required: true}"`
	Type     scalar   `yaml:"type"` // string (the default), int, number, bool or date
	Required flag     `yaml:"required"`
	Default  scalar   `yaml:"default"`
	About    scalar   `yaml:"about"`
}

type secretSpec struct {
	_        struct{} `block:"a secret" like:"token: {env: ACME_TOKEN}"`
	Env      scalar   `yaml:"env"`
	File     scalar   `yaml:"file"`
	Command  scalar   `yaml:"command"`
	Keyring  scalar   `yaml:"keyring"`
	Optional flag     `yaml:"optional"`
}

type providerSpec struct {
	_              struct{}        `block:"a provider"`
	Name           name            `yaml:"name"`
	BaseURL        template        `yaml:"base_url"`
	Origins        []template      `yaml:"origins"`
	Auth           *authSpec       `yaml:"auth"`
	Headers        ordered[scalar] `yaml:"headers"`
	Ceiling        ceilingSpec     `yaml:"ceiling"`
	StartPerSecond number          `yaml:"start_per_second"`
	Pace           scalar          `yaml:"pace"`
	Law            scalar          `yaml:"law"`
	Concurrency    concurrencySpec `yaml:"concurrency"`
	Clamp          clampSpec       `yaml:"clamp"`
	Quota          quotaSpec       `yaml:"quota"`
	On403          scalar          `yaml:"on_403"`
	Throttle       []ruleSpec      `yaml:"throttle"`
	Limits         limitsSpec      `yaml:"limits"`
}

type authSpec struct {
	_      struct{}    `block:"auth" like:"auth: {bearer: '${secrets.token}'}"`
	At     span        // where it stands
	None   flag        `yaml:"none"` // also written auth: none
	Bearer template    `yaml:"bearer"`
	Basic  *basicSpec  `yaml:"basic"`
	APIKey *apiKeySpec `yaml:"api_key"`
}

type basicSpec struct {
	_        struct{} `block:"basic authentication"`
	User     template `yaml:"user"`
	Password template `yaml:"password"`
}

type apiKeySpec struct {
	_      struct{} `block:"an API key"`
	At     span     // where it stands
	Header scalar   `yaml:"header"`
	Query  scalar   `yaml:"query"`
	Value  template `yaml:"value"`
	Prefix scalar   `yaml:"prefix"`
}

type ceilingSpec struct {
	_         struct{} `block:"a ceiling" like:"ceiling: {per_second: 4}"`
	PerSecond number   `yaml:"per_second"`
	PerMinute count    `yaml:"per_minute"`
	PerHour   count    `yaml:"per_hour"`
	PerDay    count    `yaml:"per_day"`
}

type concurrencySpec struct {
	_   struct{} `block:"a concurrency" like:"concurrency: {max: 4}"`
	At  span     // where it stands
	Max count    `yaml:"max"`
	Law scalar   `yaml:"law"`
}

type clampSpec struct {
	_        struct{} `block:"a clamp" like:"clamp: {least: 60%}, or clamp: off; without it, it is on"`
	Off      flag     // written clamp: off
	Burn     percent  `yaml:"burn"`
	Least    percent  `yaml:"least"`
	Step     percent  `yaml:"step"`
	Cooldown duration `yaml:"cooldown"`
}

type quotaSpec struct {
	_       struct{} `block:"a quota" like:"quota: {reserve: 20%}"`
	Reserve percent  `yaml:"reserve"`
}

type limitsSpec struct {
	_                struct{} `block:"limits" like:"limits: {body: 8MiB}"`
	RequestTimeout   duration `yaml:"request_timeout"`
	HeaderTimeout    duration `yaml:"header_timeout"`
	Body             size     `yaml:"body"`
	Record           size     `yaml:"record"`
	Headers          size     `yaml:"headers"`
	Cursor           size     `yaml:"cursor"`
	PagesWithoutNew  count    `yaml:"pages_without_new_record"`
	Attempts         count    `yaml:"attempts"`
	LongestRetryWait duration `yaml:"longest_retry_after"`
}

type defaultsSpec struct {
	_       struct{}        `block:"defaults"`
	Query   ordered[scalar] `yaml:"query"`
	Headers ordered[scalar] `yaml:"headers"`
	Page    *pageSpec       `yaml:"page"`
	Key     keySpec         `yaml:"key"`
	Records path            `yaml:"records"`
	On      []ruleSpec      `yaml:"on"`
}

type streamSpec struct {
	_       struct{}        `block:"a stream"`
	Get     template        `yaml:"get"`
	Records path            `yaml:"records"`
	Key     keySpec         `yaml:"key"`
	Query   ordered[scalar] `yaml:"query"`
	Headers ordered[scalar] `yaml:"headers"`
	Since   *sinceSpec      `yaml:"since"`
	Page    *pageSpec       `yaml:"page"`
	Each    ordered[scalar] `yaml:"each"`
	Role    scalar          `yaml:"role"`
	Route   name            `yaml:"route"`
	Weight  number          `yaml:"weight"`
	On      []ruleSpec      `yaml:"on"`
}

type sinceSpec struct {
	_        struct{} `block:"since" like:"since: {field: updated_at, param: since, order: asc}"`
	At       span     // where it stands
	Field    path     `yaml:"field"`
	Param    scalar   `yaml:"param"`
	Start    template `yaml:"start"`
	Order    scalar   `yaml:"order"` // none (the default) or asc
	Lookback duration `yaml:"lookback"`
	Format   scalar   `yaml:"format"`
}

// A pageSpec has exactly one of its fields.
type pageSpec struct {
	_          struct{}     `block:"page" like:"page: {link_header: next}, or page: {none: true}"`
	At         span         // where it stands
	None       flag         `yaml:"none"`
	LinkHeader scalar       `yaml:"link_header"`
	NextURL    *nextURLSpec `yaml:"next_url"`
	Cursor     *cursorSpec  `yaml:"cursor"`
	Number     *numberSpec  `yaml:"number"`
	Offset     *offsetSpec  `yaml:"offset"`
	LastID     *lastIDSpec  `yaml:"last_id"`
}

type nextURLSpec struct {
	_        struct{} `block:"page: next_url"`
	Path     path     `yaml:"path"` // also written next_url: path
	Optional flag     `yaml:"optional"`
}

type cursorSpec struct {
	_        struct{} `block:"page: cursor" like:"cursor: {from: next_cursor, param: cursor}"`
	From     path     `yaml:"from"`
	Param    scalar   `yaml:"param"`
	More     path     `yaml:"more"`
	Optional flag     `yaml:"optional"`
}

type numberSpec struct {
	_          struct{} `block:"page: number" like:"number: {param: page}"`
	Param      scalar   `yaml:"param"`
	Start      natural  `yaml:"start"`
	SizeParam  scalar   `yaml:"size_param"`
	Size       count    `yaml:"size"`
	TotalPages path     `yaml:"total_pages"`
}

type offsetSpec struct {
	_          struct{} `block:"page: offset" like:"offset: {param: offset, limit_param: limit, limit: 100}"`
	Param      scalar   `yaml:"param"`
	LimitParam scalar   `yaml:"limit_param"`
	Limit      count    `yaml:"limit"`
	Total      path     `yaml:"total"`
}

type lastIDSpec struct {
	_     struct{} `block:"page: last_id" like:"last_id: {param: after, field: id}"`
	Param scalar   `yaml:"param"`
	Field path     `yaml:"field"`
	More  path     `yaml:"more"`
}

type ruleSpec struct {
	_       struct{}            `block:"a rule" like:"{status: [404], verdict: gone}"`
	At      span                // where it stands
	Status  []count             `yaml:"status"`
	Header  ordered[headerSpec] `yaml:"header"`
	Body    scalar              `yaml:"body"`
	Verdict scalar              `yaml:"verdict"` // in on; a throttle rule has none
}

// A headerSpec tests one header: equal to a text, or a predicate on it.
type headerSpec struct {
	_    struct{} `block:"a header test"`
	When scalar   `yaml:"when"`
	is   scalar   // written as a single value instead of a block
}
