package sqlite

// How network file systems are told, for their tests.
var (
	NetworkName = networkName
	ParseMount  = parseMount
	Within      = within
)
