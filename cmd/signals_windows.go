package cmd

import "os"

// questions are the signals that ask a run how it stands: Windows has none.
var questions []os.Signal
