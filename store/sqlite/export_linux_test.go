package sqlite

// How network file systems are told, for their tests.
var (
	NetworkName     = networkName
	FuseNetworkName = fuseNetworkName
	ParseMount      = parseMount
	Within          = within
)
