package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	xterm "golang.org/x/term"

	"collect/cmd/internal/term"
	"collect/internal/userfile"
	"collect/report/problem"
)

// A dialog asks a person, at a terminal.
type dialog struct {
	*app
	in *bufio.Reader
}

// mayAsk reports whether there is a person who may be asked: at a terminal, and not told
// otherwise.
func (a *app) mayAsk(noInput bool) bool {
	file, ok := a.in.(*os.File)
	return ok && xterm.IsTerminal(int(file.Fd())) && a.terminal && !noInput &&
		!term.Truthy(a.env("COLLECT_NO_INPUT")) && !term.Truthy(a.env("CI"))
}

func (a *app) dialog() *dialog { return &dialog{a, bufio.NewReader(a.in)} }

// errLeft: the person has left: the input has ended.
var errLeft = problem.Usage("the input ended; nothing was written")

// inform says something to a person, in lines that end between words. What is read by a
// program has one line.
func (a *app) inform(lead, text string) {
	columns := len(lead) + len(text)
	if a.terminal {
		columns = a.width()
	}
	for _, line := range term.Wrap(lead, text, columns) {
		fmt.Fprintln(a.err, a.caps().Text(line))
	}
}

// ask writes a question. The answer is typed behind it.
func (d *dialog) ask(question string) {
	lines := term.Wrap("", question+":", d.width()-1)
	fmt.Fprint(d.err, d.caps().Text(strings.Join(lines, "\n")+" "))
}

// line asks for a line. An empty one is what stands behind the question, if something does.
func (d *dialog) line(ctx context.Context, question, otherwise string) (string, error) {
	if otherwise != "" {
		question += " [" + otherwise + "]"
	}
	d.ask(question)
	text, err := userfile.Await(ctx, func() (string, error) { return d.in.ReadString('\n') })
	switch {
	case errors.Is(err, io.EOF):
		fmt.Fprintln(d.err)
		return "", errLeft
	case err != nil:
		fmt.Fprintln(d.err)
		return "", err
	}
	if text = strings.TrimSpace(text); text == "" {
		return otherwise, nil
	}
	return text, nil
}

// yes asks for yes or no.
func (d *dialog) yes(ctx context.Context, question string) (bool, error) {
	for {
		text, err := d.line(ctx, question+" [Y/n]", "")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(text) {
		case "", "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		d.inform("     ", "y or n")
	}
}

// hidden asks for a secret. Meanwhile the terminal does not echo what is typed; it does
// again afterwards, also after an error.
func (d *dialog) hidden(ctx context.Context, question string) (string, error) {
	file, ok := d.app.in.(*os.File)
	if !ok {
		return d.line(ctx, question, "")
	}
	fd := int(file.Fd())
	was, err := xterm.GetState(fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = xterm.Restore(fd, was) }()
	d.ask(question)
	value, err := userfile.Await(ctx, func() ([]byte, error) { return xterm.ReadPassword(fd) })
	fmt.Fprintln(d.err)
	if errors.Is(err, io.EOF) {
		return "", errLeft
	}
	return string(value), err
}
