package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport"
)

// callers are those of a process that serves. SIGHUP reads them again from the
// configuration file.
type callers struct {
	p *program
	// faces and console are the credentials of the two listeners.
	faces, console transport.Credentials
	// operator is the credential that was made for the console of this run.
	operator string
}

func (p *program) newCallers() *callers { return &callers{p: p, operator: rand.Text()} }

// ofFaces lists who may call, by a file.
func (c *callers) ofFaces(f *file) []transport.Credential {
	var all []transport.Credential
	if c.p.set.token != "" {
		all = append(all, transport.Credential{
			Caller: bridge.Caller{Name: tokenCaller, May: []bridge.Right{bridge.MayCall, bridge.MayElicit}}, Token: c.p.set.token})
	}
	for i := range f.callers {
		all = append(all, f.callers[i].credential())
	}
	return all
}

// ofConsole lists who may answer at the console, by a file.
func (c *callers) ofConsole(f *file) []transport.Credential {
	all := []transport.Credential{{Caller: operatorAt("console"), Token: c.operator}}
	for i := range f.callers {
		if slices.Contains(f.callers[i].may, bridge.MayAnswer) {
			all = append(all, f.callers[i].credential())
		}
	}
	return all
}

func (c *callerConfig) credential() transport.Credential {
	return transport.Credential{Caller: bridge.Caller{Name: c.name, May: c.may, Sites: c.sites}, Token: c.token}
}

// rates are those of the callers that have one.
func (f *file) rates() map[string]policy.Rate {
	rates := map[string]policy.Rate{}
	for _, c := range f.callers {
		rates[c.name] = c.rate
	}
	return rates
}

// follow reads the callers again at each SIGHUP, until ctx ends or stop is called.
func (c *callers) follow(ctx context.Context, a *app) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	asked, done := c.p.hangups.follow(c.p.stdin, c.p.stderr), make(chan struct{})
	go func() { // ends with stop
		defer close(done)
		for ctx.Err() == nil {
			select {
			case <-asked:
				c.reload(a)
			case <-ctx.Done():
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// reload takes over the callers of the file as it is now. With a file that cannot be
// taken they stay as they were.
func (c *callers) reload(a *app) {
	p := c.p
	next, err := readFile(p.file.path, p.flags)
	if err == nil {
		err = transport.ValidateCallers(c.ofFaces(next))
	}
	if err != nil {
		fmt.Fprintf(p.stderr, "pagetools: warning: the callers stay as they were: %s\n", terminal.Plain(err.Error()))
		return
	}
	a.bridge.SetRates(next.rates()) // first: nobody new is without theirs
	takenBack := c.faces.Replace(c.ofFaces(next))
	takenBack = append(takenBack, c.console.Replace(c.ofConsole(next))...)
	a.bridge.Revoke()
	a.manager.Revoke()
	said := fmt.Sprintf("the callers were read again from %s: there are %d", p.file.path, len(next.callers))
	if slices.Sort(takenBack); len(takenBack) > 0 {
		said += "; taken back: " + strings.Join(slices.Compact(takenBack), ", ")
	}
	p.warnOfFile(next)
	p.warnOfTokens(next)
	if next.rest != p.file.rest {
		p.say("note: %s has changed in more than its callers; the rest counts after a restart", p.file.path)
	}
	p.say("%s", terminal.Plain(said))
}

// warnOfFile says what is unsafe about how tokens are kept.
func (p *program) warnOfFile(f *file) {
	if f.openToOthers {
		fmt.Fprintf(p.stderr, "pagetools: warning: %s holds tokens, and others can read it. chmod 600 it.\n", f.path)
	}
}

// warnOfTokens says which tokens can be guessed.
func (p *program) warnOfTokens(f *file) {
	for _, c := range f.callers {
		if len(c.token) < shortToken {
			p.say("warning: the token of %s is shorter than %d characters and can be guessed", terminal.Plain(c.name), shortToken)
		}
	}
}
