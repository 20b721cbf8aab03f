package telemetry

import (
	"io"
	"io/fs"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"collect/internal/atomicfile"
)

// WriteFile writes the metrics as text to the file at path, for the textfile collector
// of the node exporter. It is written as a whole or not at all, and everybody may read
// it: the exporter is another user. Ages are left out, since they would stand still; the
// times that they are counted from are there.
func WriteFile(path string, facts Facts, version string) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{facts: facts, readable: true, version: version})
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		if f, ok := w.(interface{ Chmod(fs.FileMode) error }); ok {
			if err := f.Chmod(0o644); err != nil {
				return err
			}
		}
		for _, family := range families {
			if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
				return err
			}
		}
		return nil
	})
}
