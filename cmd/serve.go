package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/console"
	"collect/engine"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	listen   string
	url      string
	readOnly bool
}

func (a *app) serveCommand() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Show how all connectors stand, and take orders, in a browser",
		Long: `Serve is a web console: where each connector stands, what is owed and why, how
fast each provider is asked, what happened, and the orders that the command line
has, too. It needs no internet, and looking changes nothing.

It listens on this machine only, and prints two links when it starts. Each signs
one browser in, once: the first as an operator, who may give orders, the second as
a viewer, who may not. With --read-only nobody may.

To reach it from elsewhere, put a proxy with TLS in front, and name the address
that people type with --url. See docs/console.md.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(c.Context(), o) },
	}
	flags := c.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8765", "the `address` to listen on; port 0 is any free one")
	flags.StringVar(&o.url, "url", "", "the `address` that people type, where a proxy is in front: https://ops.example/collect")
	flags.BoolVar(&o.readOnly, "read-only", false, "take no orders")
	return c
}

func (a *app) serve(ctx context.Context, o serveOptions) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	public, err := o.address()
	if err != nil {
		return err
	}
	// A mistyped path is said now. Other trouble passes, or is said on each page.
	db, err := openForReading(ctx, settings)
	if db != nil {
		_ = db.Close()
	}
	if sc := (problem.Scene{State: settings.State}); err != nil && problem.Of(err, sc).ExitCode == problem.ExitConfig {
		return a.exit(err, sc)
	}
	if db == nil && (err == nil || errors.Is(err, store.ErrMissing)) {
		a.inform("", fmt.Sprintf("there is no database at %s yet: pages are empty until a run makes it", words.Home(settings.State, a.env)))
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return problem.Usage("collect serve: %s cannot be listened on: %s; another address: collect serve --listen 127.0.0.1:0%s", o.listen, listenCause(err), a.repeat())
	}
	who := engine.AuditOf("").Who
	shown := a.consoleConfig(&settings, public, o)
	shown.Log = log
	server, err := console.New(shown, listener.Addr())
	if err != nil {
		return err
	}
	base := "http://" + listener.Addr().String()
	if !o.readOnly {
		fmt.Fprintf(a.out, "operator  %s\n", server.Link(base, who, console.Operator))
	}
	fmt.Fprintf(a.out, "viewer    %s\n", server.Link(base, "viewer", console.Viewer))
	a.inform("", "Open a link in a browser: each signs one in, once. A viewer may look, an operator may also give orders. Ctrl-C ends the console; runs go on.")
	return server.Serve(ctx, listener)
}

// consoleConfig returns what the console shows.
func (a *app) consoleConfig(settings *config.Settings, public *url.URL, o serveOptions) console.Config {
	version, _, _ := build()
	return console.Config{
		Library: console.NewLibrary(settings.State), Meeting: a.meeting(settings),
		State: words.Home(settings.State, a.env), Named: settings.StateNamed,
		URL: public, ReadOnly: o.readOnly, User: engine.AuditOf("").Who, Zone: settings.Zone,
		Version: version, Flags: a.repeat(),
		Metrics: a.metricsHandler(*settings),
		Idle:    giveBack,
		Bug:     func(err *problem.PanicError) { a.report(err, problem.Scene{Command: "collect serve"}) },
	}
}

// giveBack gives the memory of the last looks back to the system. What is pooled is free
// after two collections.
func giveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}

// address returns the address that people type; nil if it is that of the listener.
// The console has no TLS of its own, so that it may be reached from elsewhere only
// by way of what has.
func (o serveOptions) address() (*url.URL, error) {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, problem.Usage("--listen: %q is no address such as 127.0.0.1:8765", o.listen)
	}
	if o.url == "" {
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, problem.Usage("--listen %s can be reached from elsewhere, and the console has no TLS of its own: put a proxy with TLS in front, and name its address: --url https://HOST/PATH", o.listen)
		}
		return nil, nil
	}
	public, err := url.Parse(o.url)
	if err != nil || public.Host == "" || public.Scheme != "https" && public.Scheme != "http" || public.RawQuery != "" || public.User != nil {
		return nil, problem.Usage("--url: %q is no address such as https://ops.example/collect", o.url)
	}
	return public, nil
}

// listenCause is why an address cannot be listened on, without what was asked for.
func listenCause(err error) string {
	text := words.Cause(err)
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}
