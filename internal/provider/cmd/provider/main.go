// Command provider serves a scripted provider until it is told to stop, for
// shell scripts and for looking at one by hand:
//
//	go run ./internal/provider/cmd/provider -mode '429 rate=20 retry-after=1s' -mode 'stuck path=/tickets/7'
//
// It prints its URL as the only line on standard output once it listens.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"collect/internal/provider"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "provider:", err)
		os.Exit(1)
	}
}

func run() error {
	var script provider.Script
	flag.Uint64Var(&script.Seed, "seed", 1, "what the records follow from")
	flag.IntVar(&script.Tickets, "tickets", 2000, "how many tickets there are")
	flag.IntVar(&script.Flat, "flat", 20_000, "how many flat records there are")
	flag.StringVar(&script.Token, "token", "", "the bearer token to ask for; empty: none is needed")
	flag.Func("mode", "a mode, the outermost first; may be repeated (see ParseMode)", func(text string) error {
		modes, err := provider.ParseModes(text)
		script.Modes = append(script.Modes, modes...)
		return err
	})
	demo := flag.Bool("demo", false, "the provider of the demo; only -seed and -addr count beside it")
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	flag.Parse()

	s := provider.New(script)
	if *demo {
		s = provider.Demo(script.Seed)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	url, err := s.StartAt(*addr)
	if err != nil {
		return err
	}
	fmt.Println(url)
	<-ctx.Done()
	return s.Close()
}
