// Command sbom writes what a Go binary was built from, as CycloneDX 1.6, to
// standard output:
//
//	sbom BINARY
//
// It reads the build information that the linker put into the binary, so that
// it lists what is inside and nothing else, and the same binary always gives
// the same bytes.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// The parts of CycloneDX (ECMA-424) that are filled in.
type (
	bom struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		URL        string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err == nil {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		out.SetEscapeHTML(false)
		err = out.Encode(describe(info))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func describe(info *debug.BuildInfo) bom {
	application := library(info.Main)
	application.Type = "application"
	for _, s := range info.Settings {
		application.Properties = append(application.Properties, property{"go:build:" + s.Key, s.Value})
	}
	std := debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	b := bom{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{application}, Components: []component{library(std)},
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		b.Components = append(b.Components, library(*module))
	}
	return b
}

func library(m debug.Module) component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: "library", Ref: url, Name: m.Path, Version: m.Version, URL: url}
	if m.Sum != "" { // of the module's files, as in go.sum
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
