// Command wine runs pagetools for Windows in wine, against a browser of this machine, and looks
// whether it does what it does here. What wine cannot show is in docs/decisions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

const (
	script  = "scripts/wine.sh"
	program = "bin/wine/pagetools.exe"
	// skipped is the exit code of the script where there is no wine.
	skipped = 77
)

func main() {
	dll := flag.String("dll", "", "write the library that wine lacks to this file, and end")
	flag.Parse()
	if *dll != "" {
		if err := writeDLL(*dll); err != nil {
			fmt.Fprintln(os.Stderr, "wine:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wine:", err)
		os.Exit(1)
	}
}

// step is something that pagetools must do.
type step struct {
	name string
	do   func(context.Context, *rig) error
}

func run(ctx context.Context) error {
	build := exec.CommandContext(ctx, "go", "build", "-tags", "wine", "-o", program, "./cmd/pagetools")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building pagetools: %w\n%s", err, out)
	}
	tmp, err := os.MkdirTemp("", "pagetools-wine-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	site := httptest.NewServer(http.FileServer(http.Dir(stamps)))
	defer site.Close()
	r := &rig{site: site.URL, data: filepath.Join(tmp, "Daten für alle")}
	end, err := r.startBrowser(ctx, filepath.Join(tmp, "browser"))
	if err != nil {
		return err
	}
	defer end()
	if _, err := r.run(ctx, "version"); err != nil { // it makes the prefix, which takes its time
		if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() == skipped {
			fmt.Println("make wine: skipped:", err)
			return nil
		}
	}
	defer func() { _ = exec.Command(script, "--end").Run() }() //nolint:noctx // also when it was interrupted
	began, failed := time.Now(), 0
	for _, s := range steps {
		from := time.Now()
		how := "ok  "
		err := s.do(ctx, r)
		if err != nil {
			how = "FAIL"
			failed++
		}
		fmt.Printf("%s %-40s %4.1f s\n", how, s.name, time.Since(from).Seconds())
		if err != nil {
			fmt.Println("    ", err)
		}
	}
	r.endAll()
	fmt.Printf("%d of %d steps in %.0f s\n", len(steps)-failed, len(steps), time.Since(began).Seconds())
	if failed > 0 {
		return fmt.Errorf("%d steps failed", failed)
	}
	return nil
}
