package notify_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collect/engine"
	"collect/engine/notify"
)

// TestMsmtp: a mail system that nobody of this project wrote takes the mail, and hands
// over one that is whole to those who are named.
func TestMsmtp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	session := make(chan string, 1)
	go func() { session <- smtp(listener) }()

	dir := t.TempDir()
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	config := fmt.Sprintf("account default\nhost %s\nport %s\nfrom collect@example.org\ntls off\nauth off\n", host, port)
	program := filepath.Join(dir, "sendmail")
	for path, text := range map[string]string{
		filepath.Join(dir, "msmtprc"): config, program: "#!/bin/sh\nexec msmtp -C " + dir + "/msmtprc \"$@\"\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	n := notifier(t, notify.Config{Mail: notify.Mail{To: []string{"ops@example.org", "ana@example.org"}, Sendmail: program}})
	if _, err := n.Over(t.Context(), 77, []engine.Hearing{refused("tickets")}); err != nil {
		t.Fatal(err)
	}
	got := <-session
	for _, want := range []string{
		"MAIL FROM:<collect@example.org>", "RCPT TO:<ops@example.org>", "RCPT TO:<ana@example.org>", "\nSubject: collect on ",
		"\nFrom: collect@example.org", "\nTo: ops@example.org,", "\nAuto-Submitted: auto-generated", "error[E0302]: acme needs a token", "collect auth set tickets",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// smtp takes one mail, as RFC 5321 has it, and returns what was said.
func smtp(listener net.Listener) string {
	c, err := listener.Accept()
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	var said strings.Builder
	fmt.Fprint(c, "220 ready\r\n")
	data := false
	for lines := bufio.NewScanner(c); lines.Scan(); {
		line := lines.Text()
		said.WriteString(line + "\n")
		switch verb, _, _ := strings.Cut(line, " "); {
		case data && line == ".":
			data = false
			fmt.Fprint(c, "250 taken\r\n")
		case data:
		case verb == "DATA":
			data = true
			fmt.Fprint(c, "354 go on\r\n")
		case verb == "QUIT":
			fmt.Fprint(c, "221 bye\r\n")
			return said.String()
		default:
			fmt.Fprint(c, "250 ok\r\n")
		}
	}
	return said.String()
}
