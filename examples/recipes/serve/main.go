// Command serve serves the recipes on this machine, until it is interrupted.
//
// Usage: serve [-listen 127.0.0.1:8001]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/pagetools/pagetools/examples/recipes"
)

func serve(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8001", "the loopback address to listen on")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("invalid argument %q: there are only flags", flags.Arg(0))
	}
	address, err := net.ResolveTCPAddr("tcp", *listen)
	if err != nil || !address.IP.IsLoopback() {
		return fmt.Errorf("invalid value %q for -listen: must be a loopback address, "+
			"because everybody knows the password", *listen)
	}
	listener, err := net.ListenTCP("tcp", address)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	server := &http.Server{Handler: recipes.New(url),
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	fmt.Fprintf(out, "Recipes at %s/. Sign in as %s, with the password %s.\n",
		url, recipes.Name, recipes.Password)
	go func() {
		<-ctx.Done()
		_ = server.Close() // nothing outlives the process
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := serve(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}
