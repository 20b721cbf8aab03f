package sketch

import (
	"strings"

	"collect/internal/lazy"
)

// What fields and parameters are mostly called.
var (
	LikelyKey = lazy.Regexp(`(?i)^(id|_id|uuid|guid|key|sha|slug|number|code|name|[a-z]+_?id)$`)

	// SecretParam matches the parameters of an address that carry a credential.
	SecretParam = lazy.Regexp(`(?i)(key|token|secret|passw|sig)`)
)

var (
	escapeStep = strings.NewReplacer(".", `\.`, `\`, `\\`)
	notInNames = lazy.Regexp(`[^a-z0-9]+`)
	humps      = lazy.Regexp(`([a-z0-9])([A-Z])`)
)

// Step returns the name of a member as a path has it.
func Step(name string) string { return escapeStep.Replace(name) }

// Below returns the path of the member called name of what is at path.
func Below(path, name string) string {
	if path == "" {
		return Step(name)
	}
	return path + "." + Step(name)
}

// Name returns text as a name of the connector language; "" if it has no letters.
func Name(text string) string {
	name := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(humps().ReplaceAllString(text, "${1}_$2")), "_"), "_")
	name = strings.TrimLeft(name, "0123456789_")
	return strings.TrimRight(name[:min(len(name), 63)], "_")
}

// StreamName returns the last word of a path as a name.
func StreamName(path string) string {
	parts := strings.Split(path, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		name := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(parts[i]), "_"), "_")
		if name != "" && name[0] >= 'a' && name[0] <= 'z' && len(name) <= 40 {
			return strings.TrimSuffix(name, "_json")
		}
	}
	return "items"
}
