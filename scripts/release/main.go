// Command release makes what a release consists of. It is a module of its own, so that what
// packages are written with stays out of the product. The same commit and the same Go yield the
// same bytes.
//
//	go -C scripts/release run . build -version 1.2.3 [-out dist] [-platforms linux/amd64,…]
//	go -C scripts/release run . check [-once] [-out bin/release] [-platforms linux/amd64,…]
//	go -C scripts/release run . cut 1.2.3
//	go -C scripts/release run . notes 1.2.3
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
	"regexp"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// semver is a version without its v and without build metadata, as packages take it.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?$`)

// checkVersion is the version of what check builds: it is of no release.
const checkVersion = "0.0.0-check"

// options are the flags of build and check.
type options struct {
	version, out string
	platforms    []platform
	once         bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch {
	case command == "build":
		o, err := parse(root, args)
		if err != nil {
			return err
		}
		return build(ctx, root, o, out)
	case command == "check":
		o, err := parse(root, args)
		if err != nil {
			return err
		}
		return check(ctx, root, o, out)
	case (command == "cut" || command == "notes") && len(args) == 2 && semver.MatchString(args[1]):
		if command == "cut" {
			return cut(ctx, root, args[1], time.Now(), out)
		}
		return notes(root, args[1], out)
	case command == "cut" || command == "notes":
		return fmt.Errorf("%s takes one version, such as 1.2.3, and not %q", command, args[1:])
	}
	return fmt.Errorf("unknown command %q: available are build, check, cut and notes", command)
}

func parse(root string, args []string) (o options, err error) {
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	folder, names := "dist", strings.Join(names(allPlatforms), ",")
	if args[0] == "check" {
		folder, o.version = filepath.Join("bin", "release"), checkVersion
		flags.BoolVar(&o.once, "once", false, "build once, and compare nothing")
	} else {
		flags.StringVar(&o.version, "version", "", "the version, as 1.2.3")
	}
	flags.StringVar(&o.out, "out", filepath.Join(root, folder), "the folder to write; what is in it goes")
	flags.StringVar(&names, "platforms", names, "what to build for, as GOOS/GOARCH,…")
	if err := flags.Parse(args[1:]); err != nil {
		return o, err
	}
	if !semver.MatchString(o.version) {
		return o, fmt.Errorf("invalid version %q: must be like 1.2.3 (make release VERSION=1.2.3)", o.version)
	}
	if major, _, _ := strings.Cut(o.version, "."); major != "0" && major != "1" {
		return o, fmt.Errorf("version %s: Go stamps a version from 2 on only where the module's path ends with it, and "+
			"this one's is %s", o.version, modulePath)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%s takes no argument, and %q is too much", args[0], flags.Arg(0))
	}
	if o.out, err = filepath.Abs(o.out); err != nil {
		return o, err
	}
	o.platforms, err = parsePlatforms(names)
	return o, err
}

// findRoot returns the folder with the product's go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+modulePath+"\n") {
			return dir, nil
		}
		if up := filepath.Dir(dir); up != dir {
			dir = up
			continue
		}
		return "", errors.New("this is not a clone of the repository: no folder above has the go.mod of " + modulePath)
	}
}

// build makes a release of the commit that is checked out.
func build(ctx context.Context, root string, o options, out io.Writer) error {
	if changed, err := git(ctx, root, "status", "--porcelain"); err != nil || changed != "" {
		return errors.Join(err, fmt.Errorf("the working tree is not clean; commit first:\n%s", changed))
	}
	if err := notes(root, o.version, io.Discard); err != nil {
		return err
	}
	commit, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	tagged, err := git(ctx, root, "rev-parse", "--verify", "--quiet", "refs/tags/v"+o.version+"^{commit}")
	if err == nil && tagged != commit {
		return fmt.Errorf("the tag v%s is on %.12s, and this is %.12s: check that out, or take another version",
			o.version, tagged, commit)
	}
	if err := makeDist(ctx, root, commit, o, out); err != nil {
		return err
	}
	if tagged == "" {
		fmt.Fprintf(out, "%.12s has no tag yet: git tag -a v%s -m v%s\n", commit, o.version, o.version)
	}
	return nil
}

// check builds the commit that is checked out twice, in two folders, compares what came, and has
// the readers of the packages judge them.
func check(ctx context.Context, root string, o options, out io.Writer) error {
	commit, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if err := makeDist(ctx, root, commit, o, out); err != nil {
		return err
	}
	if !o.once {
		temp, err := os.MkdirTemp("", "release-again-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(temp) }()
		again := o
		again.out = filepath.Join(temp, "dist")
		if err := makeDist(ctx, root, commit, again, io.Discard); err != nil {
			return err
		}
		if err := sameFiles(o.out, again.out); err != nil {
			return err
		}
		fmt.Fprintln(out, "built twice: the same bytes")
	}
	return validate(ctx, out, o)
}
