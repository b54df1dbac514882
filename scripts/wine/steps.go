package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	stamps = "examples/stampdb"
	finds  = `{"action":"find-stamps","request":{"query":"penny"}}`
	// interrupted is the exit code after Ctrl-C.
	interrupted = 130
	adds        = `{"action":"add-stamp","request":{"name":"Blaue Mauritius %d","description":"d","year":1847}}`
)

var steps = []step{
	{"version", func(ctx context.Context, r *rig) error { return r.says(ctx, "go1.", "version") }},
	{"doctor", func(ctx context.Context, r *rig) error { return r.says(ctx, "4 found", "doctor", stamps) }},
	{"tools", func(ctx context.Context, r *rig) error { return r.says(ctx, "find-stamps", "tools", stamps) }},
	{"call, with a space and an umlaut", func(ctx context.Context, r *rig) error {
		return r.says(ctx, "Grüner Löwe", "call", stamps, "add-stamp", "name=Grüner Löwe", "description=a b", "year=1850", "--approval", "auto")
	}},
	{"call with a wrong argument", func(ctx context.Context, r *rig) error {
		_, err := r.run(ctx, "call", stamps, "find-stamps", "query=1", "limit=x")
		if err == nil {
			return errors.New("it ended with 0")
		}
		return nil
	}},
	{"locks, secrets, access lists", func(ctx context.Context, r *rig) error {
		return r.tests(ctx, "./bridge/files", "^(TestLock|TestPrivateFolder)$")
	}},
	{"a process and its children", func(ctx context.Context, r *rig) error { return r.tests(ctx, "./session/cdp/chrome/proctree", ".") }},
	{"doors of the inbox", func(ctx context.Context, r *rig) error { return r.tests(ctx, "./cmd/pagetools", "^TestInbox") }},
	{"adapters: one's own, and one that others can write to", adapters},
	{"mcp over stdin and stdout", mcp},
	{"serve: webtools, MCP, OpenAPI, health", faces},
	{"two processes on one data folder", two},
	{"approve in another process, kept", approve},
	{"an interrupt", interrupt},
	{"versions and consent after a restart", again},
	{"audit verify", func(ctx context.Context, r *rig) error { return r.says(ctx, "", "audit", "verify") }},
}

// adapters opens a site with an adapter of this user, and then with one that everybody can change.
func adapters(ctx context.Context, r *rig) error {
	const site = "examples/adapter-shop"
	content, err := os.ReadFile(site + "/shop.js")
	if err != nil {
		return err
	}
	const open = "bin/wine/open.js"
	if err := errors.Join(os.RemoveAll(open), os.WriteFile(open, content, 0o600)); err != nil { //nolint:gosec // a constant
		return err
	}
	if err := r.says(ctx, "from adapter corner-shop", "tools", site, "--adapter", open); err != nil {
		return err
	}
	if err := os.Chmod(open, 0o666); err != nil { //nolint:gosec // that is tried here
		return err
	}
	_, err = r.run(ctx, "tools", site, "--adapter", open)
	if err == nil || !strings.Contains(err.Error(), "others can write to") {
		return fmt.Errorf("with mode 0666: %w", err)
	}
	return nil
}

// says fails when a command fails, or does not say something.
func (r *rig) says(ctx context.Context, word string, args ...string) error {
	out, err := r.run(ctx, args...)
	if err == nil && !strings.Contains(out, word) {
		err = fmt.Errorf("pagetools %s says %s", strings.Join(args, " "), out)
	}
	return err
}

func mcp(ctx context.Context, r *rig) error {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := r.command(bounded, nil, "mcp", stamps, "--console-listen", "off")
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	said := &words{}
	c.Stderr = said
	if err := c.Start(); err != nil {
		return err
	}
	defer func() { _, _ = c.Process.Kill(), c.Wait() }()
	lines := bufio.NewReader(out)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"find-stamps","arguments":{"query":"penny"}}}`,
	} {
		if _, err := fmt.Fprintln(in, line); err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("it ended: %w: %s", err, said)
		}
		if strings.Contains(line, `"id":2`) {
			if !strings.Contains(line, "Penny Black") {
				return fmt.Errorf("the call returned %s", line)
			}
			return in.Close()
		}
	}
}

// first is the server of most steps.
func (r *rig) first(ctx context.Context) (*server, error) {
	if len(r.servers) > 0 {
		return r.servers[0], nil
	}
	return r.serve(ctx, "stampdb="+r.site, "--approval", "ask-once")
}

func faces(ctx context.Context, r *rig) error {
	s, err := r.first(ctx)
	if err != nil {
		return err
	}
	for _, row := range []struct{ method, path, body, want string }{
		{http.MethodGet, "/webtools", "", "stampdb"}, {http.MethodGet, "/webtools/stampdb", "", "find-stamps"},
		{http.MethodPost, "/webtools/stampdb", finds, "Penny Black"}, {http.MethodGet, "/openapi.json", "", "find-stamps"},
		{http.MethodGet, "/readyz", "", "stampdb"}, {http.MethodGet, "/metrics", "", "pagetools_"},
		{http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, "serverInfo"},
	} {
		status, text, err := s.ask(ctx, row.method, row.path, row.body)
		if err == nil && (status != http.StatusOK || !strings.Contains(text, row.want)) {
			err = fmt.Errorf("%s %s: %d %.300s", row.method, row.path, status, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// two starts a second server on the data folder, which lists what waits at the first one.
func two(ctx context.Context, r *rig) error {
	s, err := r.first(ctx)
	if err != nil {
		return err
	}
	if status, text, err := s.ask(ctx, http.MethodPost, "/webtools/stampdb", fmt.Sprintf(adds, 1)); err != nil || status != http.StatusForbidden {
		return fmt.Errorf("a call that needs consent: %d %s, %w", status, text, err)
	}
	second, err := r.serve(ctx, "stampdb="+r.site)
	if err != nil {
		return err
	}
	if _, _, err := second.ask(ctx, http.MethodPost, "/webtools/stampdb", finds); err != nil {
		return err
	}
	if err := r.says(ctx, "add-stamp", "approve"); err != nil {
		return err
	}
	code, err := second.interrupt()
	if err == nil && code != interrupted {
		err = fmt.Errorf("the second one ended with %d: %s", code, second.said)
	}
	return err
}

// approve agrees for good, with the credential of operators, and waits for the call.
func approve(ctx context.Context, r *rig) error {
	out, err := r.run(ctx, "approve", "--format", "json")
	if err != nil {
		return err
	}
	var list struct{ Questions []struct{ ID string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Questions) == 0 {
		return fmt.Errorf("the questions are %s", out)
	}
	token, err := os.ReadFile(filepath.Join(r.data, "console.token"))
	if err != nil {
		return err
	}
	if _, err := r.run(ctx, "approve", list.Questions[0].ID, "--yes"); err == nil {
		return errors.New("without the credential it is answered, too")
	}
	if _, err := r.runAs(ctx, []string{"PAGETOOLS_CONSOLE_TOKEN=" + string(token)}, "approve", list.Questions[0].ID, "--always"); err != nil {
		return err
	}
	return r.adds(ctx, 2)
}

// adds makes a call that needs consent, which is there.
func (r *rig) adds(ctx context.Context, number int) error {
	s, err := r.first(ctx)
	if err != nil {
		return err
	}
	status, text, err := s.ask(ctx, http.MethodPost, "/webtools/stampdb", fmt.Sprintf(adds, number))
	if err == nil && (status != http.StatusOK || !strings.Contains(text, "Blaue Mauritius")) {
		err = fmt.Errorf("with consent that was kept: %d %s", status, text)
	}
	return err
}

func interrupt(ctx context.Context, r *rig) error {
	s, err := r.first(ctx)
	if err != nil {
		return err
	}
	if r.version, err = s.version(ctx); err != nil {
		return err
	}
	from := time.Now()
	code, err := s.interrupt()
	if err == nil && (code != interrupted || !strings.Contains(s.said.String(), "stopping")) {
		err = fmt.Errorf("it ended with %d after %s: %s", code, time.Since(from), s.said)
	}
	r.servers = nil
	return err
}

// again starts another server, which knows the version of the tools, and the consent.
func again(ctx context.Context, r *rig) error {
	if err := r.adds(ctx, 3); err != nil {
		return err
	}
	if err := r.says(ctx, "add-stamp", "approve", "--list"); err != nil {
		return err
	}
	s, err := r.first(ctx)
	if err != nil {
		return err
	}
	now, err := s.version(ctx)
	if err == nil && now != r.version {
		err = fmt.Errorf("the version was %q, and is %q", r.version, now)
	}
	return err
}

// version returns that of the tools of the site.
func (s *server) version(ctx context.Context) (string, error) {
	_, text, err := s.ask(ctx, http.MethodGet, "/webtools/stampdb", "")
	var d struct{ Version string }
	if err == nil {
		err = json.Unmarshal([]byte(text), &d)
	}
	if err == nil && d.Version == "" {
		err = fmt.Errorf("it has no version: %.300s", text)
	}
	return d.Version, err
}
