package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
)

// Flags of a browser that a WebDriver server starts, of those that a local one gets: connections pass
// the proxy of its contexts, sites have processes of their own, and tabs that nobody sees run.
var browserFlags = []string{
	"disable-quic",
	"webrtc-ip-handling-policy=disable_non_proxied_udp",
	"force-webrtc-ip-handling-policy=disable_non_proxied_udp",
	"site-per-process",
	"disable-back-forward-cache",
	"disable-background-timer-throttling",
	"disable-backgrounding-occluded-windows",
	"disable-renderer-backgrounding",
}

const (
	// releaseTime bounds how long the end of a browser is waited for.
	releaseTime = 5 * time.Second
	// aliveEvery sets how often a WebDriver server hears of a session: it ends those that it hears nothing
	// of, because it does not see what goes on over the DevTools protocol.
	aliveEvery = 30 * time.Second
	// mostReply bounds what is read of a response, in bytes.
	mostReply = 1 << 20
)

// driver is a WebDriver server.
type driver struct {
	base *url.URL
	log  *slog.Logger
}

// newSession has a WebDriver server start a browser.
func (e *Endpoint) newSession(ctx context.Context, log *slog.Logger) (*Claim, error) {
	base, err := url.Parse(strings.TrimSuffix(e.WebDriver, "/"))
	if err != nil || base.Host == "" {
		return nil, errors.New("the address of the WebDriver server is not one")
	}
	d := &driver{base, log.With("endpoint", e.Name)}
	always := map[string]any{"browserName": "chrome", "unhandledPromptBehavior": "ignore", // dialogs are ours
		"goog:chromeOptions": map[string]any{"args": browserFlags}}
	if e.Insecure {
		always["acceptInsecureCerts"] = true
	}
	var made struct {
		SessionID    string         `json:"sessionId"`
		Capabilities map[string]any `json:"capabilities"`
	}
	if err := d.do(ctx, http.MethodPost, "/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": always}}, &made); err != nil {
		return nil, err
	}
	if made.SessionID == "" {
		return nil, errors.New("the WebDriver server names no session")
	}
	path := "/session/" + url.PathEscape(made.SessionID)
	address, err := d.devTools(made.Capabilities)
	if err != nil {
		d.end(path)
		return nil, err
	}
	alive, stop := context.WithCancel(context.Background())
	go d.keep(alive, path, aliveEvery)
	return &Claim{URL: address, Once: true, Rented: true, release: sync.OnceFunc(func() { stop(); d.end(path) })}, nil
}

// devTools returns the DevTools address of a new session. One on the server's own machine is taken for
// one that the server passes on.
func (d *driver) devTools(capabilities map[string]any) (string, error) {
	said, _ := capabilities["se:cdp"].(string)
	u, err := url.Parse(said)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		return "", errors.New("the WebDriver server offers no DevTools: its sessions have no capability se:cdp")
	}
	if isHere(u.Hostname()) && !isHere(d.base.Hostname()) {
		u.Host = d.base.Host
		u.Scheme = map[bool]string{true: "wss", false: "ws"}[d.base.Scheme == "https"]
	}
	if u.User == nil && u.Hostname() == d.base.Hostname() {
		u.User = d.base.User
	}
	return u.String(), nil
}

// keep tells the server that a session is in use, until ctx ends.
func (d *driver) keep(ctx context.Context, path string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		bounded, cancel := context.WithTimeout(ctx, releaseTime)
		err := d.do(bounded, http.MethodGet, path+"/timeouts", nil, nil)
		cancel()
		if err != nil && ctx.Err() == nil {
			d.log.Warn("browser: the WebDriver server does not know the session any more, or does not answer", "error", err)
		}
	}
}

// end deletes a session.
func (d *driver) end(path string) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	if err := d.do(ctx, http.MethodDelete, path, nil, nil); err != nil {
		d.log.Warn("browser: a WebDriver session was not deleted", "error", err)
	}
}

// do sends a command, and reads its value into into, unless that is nil.
func (d *driver) do(ctx context.Context, method, path string, command, into any) error {
	var body io.Reader = http.NoBody
	if command != nil {
		text, err := json.Marshal(command)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	u := *d.base
	u.User = nil
	r, err := http.NewRequestWithContext(ctx, method, u.String()+path, body)
	if err != nil {
		return errors.New("the address of the WebDriver server is not one")
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	if user := d.base.User; user != nil {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
	}
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("asking the WebDriver server: %w", Safe(err))
	}
	defer func() { _ = resp.Body.Close() }()
	var reply struct {
		Value json.RawMessage `json:"value"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, mostReply)).Decode(&reply)
	switch {
	case resp.StatusCode != http.StatusOK:
		return refusal(resp, reply.Value)
	case err != nil:
		return errors.New("the WebDriver server does not answer as one")
	case into == nil:
		return nil
	}
	if json.Unmarshal(reply.Value, into) != nil {
		return errors.New("the WebDriver server does not answer as one")
	}
	return nil
}

// client follows no redirect: commands are not repeated elsewhere, and nor are credentials.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// refusal returns the error of a response. A server that is full says so with its status, or has no
// session to give.
func refusal(resp *http.Response, value json.RawMessage) error {
	if err := Busy(resp.StatusCode, resp.Header); err != nil {
		return err
	}
	var said struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(value, &said) // what is not there says nothing
	return fmt.Errorf("the WebDriver server answered %s: %s %s", resp.Status, text.Brief(said.Error, 64), text.Brief(said.Message, 200))
}
