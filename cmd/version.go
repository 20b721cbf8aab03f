package cmd

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			version, revision, goVersion := build()
			return a.result(versionFacts{version, revision, goVersion}, versionLine()+"\n")
		},
	}
}

// versionFacts are the version in JSON.
type versionFacts struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

func versionLine() string {
	version, revision, goVersion := build()
	return fmt.Sprintf("collect %s %s %s", version, revision, goVersion)
}

// build returns the version, the revision and the Go release of this binary,
// as the linker recorded them.
func build() (version, revision, goVersion string) {
	version, revision = "(devel)", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, revision, "unknown"
	}
	if info.Main.Version != "" {
		version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return version, revision, info.GoVersion
}
