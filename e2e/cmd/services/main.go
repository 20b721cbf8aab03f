// Command services runs the servers of the end-to-end tests for use by hand,
// until it is told to stop. It writes their URLs, and a token, as shell
// variables to the file it is given. See scripts/services.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"collect/e2e/services"
)

func main() {
	cache := flag.String("cache", ".cache", "the folder that scripts/services install filled")
	tickets := flag.Int("tickets", 5000, "how many tickets PocketBase holds")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *cache, *tickets); err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
		os.Exit(1)
	}
}

// run starts everything, writes services.env and waits for ctx.
func run(ctx context.Context, cache string, tickets int) (err error) {
	dir, err := os.MkdirTemp("", "collect-services-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pb, err := services.StartPocketBase(filepath.Join(dir, "pocketbase"), tickets)
	if err != nil {
		return err
	}
	defer closing(pb, &err)
	if err := pb.Limit(true); err != nil {
		return err
	}
	nginx, err := services.StartNginx(dir, pb.URL)
	if err != nil {
		return err
	}
	defer closing(nginx, &err)
	github, err := services.StartGitHub(filepath.Join(cache, "npm"))
	if err != nil {
		return err
	}
	defer closing(github, &err)

	env := fmt.Sprintf("POCKETBASE_URL=%s\nPOCKETBASE_TOKEN=%s\nNGINX_503_URL=%s\nNGINX_429_URL=%s\nGITHUB_FIXTURES_URL=%s\n",
		pb.URL, pb.Token, nginx.URL503, nginx.URL429, github.URL)
	path := filepath.Join(cache, "services.env")
	if err := os.WriteFile(path+".new", []byte(env), 0o600); err != nil {
		return err
	}
	// Renamed, so that who waits for the file finds it whole.
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	<-ctx.Done()
	return os.Remove(path)
}

func closing(c io.Closer, err *error) { *err = errors.Join(*err, c.Close()) }
