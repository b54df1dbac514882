package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/report"
)

// CheckOption changes how [Page.Check] judges.
type CheckOption func(*judging)

type judging struct {
	failOn check.Severity
	rules  map[string]check.Setting
}

// FailOn sets the least severity that fails the test; it is [check.Error] without it, and with
// [check.Off] nothing fails.
func FailOn(s check.Severity) CheckOption { return func(j *judging) { j.failOn = s } }

// Rule changes a rule by its id: its severity, its options, or what it allows.
func Rule(id string, s check.Setting) CheckOption { return func(j *judging) { j.rules[id] = s } }

// Check holds what the page declares now against the rules of pagetools check. The page is opened a
// second time for that. The test fails by findings as severe as [FailOn] says; others are logged.
func (p *Page) Check(tb testing.TB, options ...CheckOption) {
	tb.Helper()
	j := judging{failOn: check.Error, rules: map[string]check.Setting{}}
	for _, o := range options {
		o(&j)
	}
	switch j.failOn {
	case check.Error, check.Warning, check.Info, check.Off:
	default:
		tb.Fatalf("invalid value %q for FailOn: must be error, warning, info or off", j.failOn)
	}
	page, err := p.visit.Look(tb.Context())
	if err != nil {
		tb.Fatalf("looking at the page: %s", plain(err))
	}
	s := &check.Snapshot{Target: p.app.name, Live: true, Pages: []check.Page{page}}
	found, err := check.Judge(s, check.Options{Rules: j.rules})
	if err != nil {
		tb.Fatalf("Rule: %s", plain(err))
	}
	run := &report.Run{Findings: found, FailOn: j.failOn}
	switch text := "\n" + strings.TrimRight(run.FindingsText(), "\n"); {
	case run.Failed():
		tb.Error(text)
	case len(found) > 0:
		tb.Log(text)
	}
}

// lockMu is held while a lock file is read and written: several pages may have one.
var lockMu sync.Mutex

// MatchLock compares the tools that are there now with those of a lock file, whose path is relative
// to the folder of the test. The test fails by what breaks callers, as pagetools diff has it; other
// changes are logged. go test -update writes the tools into the file; it needs [Main] in TestMain,
// or a flag of that name in the package. A file can have several pages.
func (p *Page) MatchLock(tb testing.TB, file string) {
	tb.Helper()
	tools, err := p.visit.Locked(tb.Context())
	if err != nil {
		tb.Fatalf("listing the tools: %s", plain(err))
	}
	lockMu.Lock()
	defer lockMu.Unlock()
	update, defined := updating()
	key, err := p.key()
	if err != nil {
		tb.Fatalf("reading the address of the page: %s", plain(err))
	}
	if update {
		if err := writeLock(file, key, tools); err != nil {
			tb.Fatal(err)
		}
		return
	}
	advice := "go test -update writes it"
	if !defined {
		advice += ", once TestMain calls e2e.Main"
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		tb.Fatalf("there is no lock file %s: %s", file, advice)
	}
	if err != nil {
		tb.Fatal(err)
	}
	changes, err := changesOf(text, key, tools)
	if err != nil {
		tb.Fatalf("%s: %s; %s", file, plain(err), advice)
	}
	run := &report.Run{}
	for _, c := range changes {
		run.Findings = append(run.Findings, c.Finding())
	}
	switch all := strings.TrimRight(run.FindingsText(), "\n"); {
	case check.Owed(changes) == schema.Major:
		tb.Errorf("the tools of %s are not those of %s; %s:\n%s", key, file, advice, all)
	case len(changes) > 0:
		tb.Logf("the tools of %s have changed since %s, and break nobody; %s:\n%s", key, file, advice, all)
	}
}

// key returns the shown page's key in a lock file: its address, or its path in the folder.
func (p *Page) key() (string, error) {
	at, err := url.Parse(p.visit.URL())
	if err != nil {
		return "", err
	}
	at.RawQuery, at.Fragment = "", ""
	if p.app.folder == "" {
		return at.String(), nil
	}
	return path.Join(filepath.ToSlash(p.app.folder), at.Path), nil
}

func changesOf(text []byte, key string, tools map[string]app.LockedTool) ([]check.Change, error) {
	locked, err := check.FromFile(text)
	if err != nil {
		return nil, err
	}
	for i := range locked.Pages {
		if locked.Pages[i].Target != key {
			continue
		}
		now, err := (&app.Lock{LockfileVersion: app.LockVersion,
			Targets: map[string]app.LockedTarget{key: {Tools: tools}}}).Text()
		if err != nil {
			return nil, err
		}
		there, err := check.FromFile(now)
		if err != nil {
			return nil, err
		}
		return check.Diff(&check.Snapshot{Pages: locked.Pages[i : i+1]}, there)
	}
	return nil, fmt.Errorf("it does not have the page %s", key)
}

// writeLock writes the tools of a page into a lock file, and leaves others there.
func writeLock(file, key string, tools map[string]app.LockedTool) error {
	lock := app.Lock{}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &lock); err != nil || lock.LockfileVersion != app.LockVersion {
			return fmt.Errorf("%s is not a lock file of version %d: remove it, or name another one", file,
				app.LockVersion)
		}
	}
	if lock.Targets == nil {
		lock.Targets = map[string]app.LockedTarget{}
	}
	lock.LockfileVersion = app.LockVersion
	target := app.LockedTarget{Tools: tools}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		if by := tools[name].Adapter; by != nil && !slices.Contains(target.Adapters, *by) {
			target.Adapters = append(target.Adapters, *by)
		}
	}
	lock.Targets[key] = target
	if text, err = lock.Text(); err != nil {
		return err
	}
	return files.Write(file, text, 0o644)
}
