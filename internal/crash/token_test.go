package crash_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// What is asked of a refresh token that the provider replaces: whatever happens
// on the way, the file holds one that was granted, whole. A provider that takes
// the old one until the new one was used takes that of the file, always. One
// that does not may take none, if the one that came with an access token was
// lost before that was used: then the command says that somebody has to sign in,
// and goes on when they have.

var granted = regexp.MustCompile(`^refresh-[0-9]+\n$`)

func (c *trial) tokenFile() string { return filepath.Join(c.dir, tokenDir, "refresh") }

// tokenKept checks the file of the refresh token after a process.
func (c *trial) tokenKept(after ending) {
	if !c.tokens {
		return
	}
	text, err := os.ReadFile(c.tokenFile())
	token := strings.TrimSpace(string(text))
	switch {
	case err != nil || !granted.Match(text):
		c.fail("%v; the refresh token is broken: %q, %v", after, text, err)
	case !c.strict && !c.provider.Refreshes(token):
		c.fail("%v; the refresh token is lost: %s is kept", after, token)
	case !c.provider.Refreshes(token) && c.provider.Relied():
		c.fail("%v; the refresh token is lost, and what came with it was used: %s is kept", after, token)
	}
	if info, err := os.Stat(c.tokenFile()); err == nil && info.Mode().Perm() != 0o600 {
		c.fail("%v; the refresh token is open to others: %v", after, info.Mode())
	}
}

// signedOut reports whether a process ended because the provider takes no
// refresh token any more, and said so.
func (c *trial) signedOut(e ending) bool {
	text, _ := os.ReadFile(c.tokenFile())
	return c.strict && e.code == 77 && strings.Contains(e.stderr, "E0305") && !c.provider.Refreshes(strings.TrimSpace(string(text)))
}

// signIn does what the message asks for.
func (c *trial) signIn() {
	c.signedIn++
	if err := os.WriteFile(c.tokenFile(), fmt.Appendln(nil, c.provider.SignIn()), 0o600); err != nil {
		c.fail("%v", err)
	}
}

// goesOn runs the command once more. It must need nobody's help, unless nobody
// has a refresh token. If it used that, nothing stays beside the file.
func (c *trial) goesOn() (ending, bool) {
	before := c.tokensAsked()
	e, ok := c.run(c.collecting())
	if ok && c.signedOut(e) {
		c.intact("signed out")
		c.signIn()
		e, ok = c.run(c.collecting())
	}
	if c.tokensAsked() > before {
		if entries, err := os.ReadDir(filepath.Dir(c.tokenFile())); err != nil || len(entries) != 1 {
			c.fail("beside the refresh token: %v, %v", entries, err)
		}
	}
	return e, ok
}

func (c *trial) tokensAsked() (n int) {
	for _, e := range c.provider.Log() {
		if e.Path == tokenPath {
			n++
		}
	}
	return n
}

// tokenPath is where the provider grants tokens.
const tokenPath = "/oauth/token"
