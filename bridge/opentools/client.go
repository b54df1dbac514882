package opentools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// outgoing is a call on its way to an API.
type outgoing struct {
	transport http.RoundTripper
	keeper    *oauth.Keeper
	target    oauth.Target
	tool      *Tool
	server    *url.URL
	jar       *jar // nil: no cookies
	args      schema.Value
	maxBytes  int
	userAgent string
	progress  func(bridge.Progress) // of a stream; nil: nobody listens
}

// retries bounds the repetitions of a call that only reads, and longestWait how long one waits.
const (
	retries     = 2
	longestWait = 20 * time.Second
)

// do sends the request, and again where nothing can run twice by that: after an answer that it was
// not let in and could be now, and where it only reads and the site says when to come back.
func (o *outgoing) do(ctx context.Context) bridge.Step {
	signedAnew := false
	for try := 0; ; try++ {
		res, sent, err := o.send(ctx) //nolint:bodyclose // read closes it
		if err != nil {
			return o.failed(ctx, err, sent).Step()
		}
		step, wait := o.read(ctx, res)
		switch {
		case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
			if o.keeper == nil || signedAnew {
				return step
			}
			again, err := o.keeper.Refused(ctx, o.target, res)
			if err != nil {
				return notSigned(err).Step()
			}
			if !again {
				return step
			}
			signedAnew = true
		case wait > 0 && wait <= longestWait && isSafe(o.tool.Method) && try < retries && fits(ctx, wait):
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return step
			}
		default:
			return step
		}
	}
}

// fits reports whether there is time for a wait and for an answer after it.
func fits(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > 2*wait
}

// isSafe reports whether a method only reads (RFC 9110, 9.2.1).
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == "QUERY"
}

// send sends the request once. sent is true when something of it may have arrived.
func (o *outgoing) send(ctx context.Context) (res *http.Response, sent bool, err error) {
	made, err := o.tool.request(o.server, o.args)
	if err != nil {
		return nil, false, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "request: %s.", err)
	}
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	r := (&http.Request{Method: made.method, URL: made.url, Host: made.url.Host, Header: made.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
	if made.body != nil {
		r.ContentLength = int64(len(made.body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(made.body)), nil }
		if r.Body, _ = r.GetBody(); len(made.body) == 0 { // it does not fail; and no length would be an unknown one
			r.Body = http.NoBody
		}
	}
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", "application/json, text/*;q=0.8, */*;q=0.5")
	}
	r.Header.Set("User-Agent", o.userAgent)
	if o.jar != nil {
		for _, c := range o.jar.Cookies(r.URL) {
			r.AddCookie(c)
		}
	}
	if o.keeper != nil {
		if err := o.keeper.Sign(ctx, o.target, r); ctx.Err() != nil { // failed says why
			return nil, false, ctx.Err()
		} else if err != nil {
			return nil, false, notSigned(err)
		}
	}
	client := http.Client{Transport: o.transport, CheckRedirect: o.within}
	if o.jar != nil {
		client.Jar = receiving{o.jar}
	}
	res, err = client.Do(r)
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols { // its body would not end with ctx
		_ = res.Body.Close()
		res.Body = http.NoBody
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, in which a key may be
	}
	return res, wrote.Load(), err
}

// within follows redirects of the same origin. Others are the answer, so that nothing that was
// meant for this origin gets to another one.
func (o *outgoing) within(r *http.Request, via []*http.Request) error {
	if len(via) > 5 || !origin.SameURL(r.URL, o.server) {
		return http.ErrUseLastResponse
	}
	return nil
}

// notSigned is the error of a call that nobody is logged in for. What to run is for operators: it
// is in the cause.
func notSigned(err error) *bridge.Error {
	if e, ok := errors.AsType[*bridge.Error](err); ok {
		return e
	}
	needed, ok := errors.AsType[*oauth.Needed](err)
	if !ok {
		return bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun, "The credentials for this API cannot be used.").With(err)
	}
	words := "Nobody is logged in to %s for this caller: a person has to, where pagetools runs."
	if errors.Is(err, oauth.ErrStepUp) {
		words = "The login to %s does not allow this: a person has to log in again for it, where pagetools runs."
	}
	return bridge.Errorf(bridge.ToolError, "", bridge.NotRun, words, text.Short(text.Line(needed.Resource), 200)).
		Detail("login", true).With(err)
}

// failed is the error of a request without an answer.
func (o *outgoing) failed(ctx context.Context, err error, sent bool) *bridge.Error {
	if e, ok := errors.AsType[*bridge.Error](err); ok {
		return e
	}
	outcome := bridge.NotRun
	if sent {
		outcome = bridge.Unknown
	}
	if cause := context.Cause(ctx); cause != nil {
		e := *bridge.AsError(cause)
		if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
			e = *bridge.GaveUp(outcome)
		}
		e.Outcome = outcome
		return e.With(err)
	}
	if e := unreachable(o.server.Host, err); e != nil {
		e.Outcome = outcome
		return e
	}
	return bridge.Errorf(bridge.InternalError, bridge.Unreachable, outcome,
		"%s broke the connection off.", o.server.Host).With(err)
}

// unreachable is the error of a host that cannot be asked; nil when err is of another kind.
func unreachable(host string, err error) *bridge.Error {
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var forbidden interface{ Forbidden() string }
	switch {
	case errors.As(err, &forbidden):
		return bridge.Errorf(bridge.InternalError, bridge.OriginBlocked, bridge.NotRun, "%s.", forbidden.Forbidden()).With(err)
	case errors.As(err, &certificate), errors.As(err, &unknown):
		return bridge.Errorf(bridge.InternalError, bridge.Certificate, bridge.NotRun,
			"The certificate of %s is not valid.", host).With(err)
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain || errors.Is(err, http.ErrSchemeMismatch) {
		return bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
			"%s does not speak https: try http.", host).With(err)
	}
	if to, ok := errors.AsType[*net.OpError](err); ok && to.Op == "dial" {
		return bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "%s cannot be reached.", host).With(err)
	}
	return nil
}

// mostRetry is the longest that a site can ask for.
const mostRetry = 24 * time.Hour

// retryAfter reads when the site wants to be asked again (RFC 9110, 10.2.3); 0 is not said.
func retryAfter(h http.Header, now time.Time) time.Duration {
	said := h.Get("Retry-After")
	if n, err := strconv.Atoi(said); err == nil && n >= 0 {
		return max(time.Duration(min(n, int(mostRetry/time.Second)))*time.Second, 10*time.Millisecond)
	}
	if at, err := http.ParseTime(said); err == nil && at.After(now) {
		return min(at.Sub(now), mostRetry)
	}
	return 0
}

// serverOf returns where the requests of a tool go (B12): its first server that is of the
// document's origin, or of one that the user allowed. The error says which was left out.
func (t *Tool) serverOf(d *Document, document *url.URL, allowed []string, w text.Words,
) (*url.URL, error) {
	all, err := d.servers, d.serversErr
	if t.servers != nil {
		all, err = t.servers.addresses, t.servers.err
	}
	if err != nil {
		return nil, err
	}
	elsewhere := ""
	for _, s := range all {
		u, err := document.Parse(s)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !isPort(u.Port()) {
			continue
		}
		u.RawQuery, u.Fragment, u.User = "", "", nil
		if origin.SameURL(u, document) || isAllowed(u, allowed) {
			return u, nil
		}
		elsewhere = cmp.Or(elsewhere, s)
	}
	if elsewhere == "" {
		return nil, fmt.Errorf("its server %.200s is not an address of http or https", all[0])
	}
	return nil, fmt.Errorf("its server %.200s is of another origin than the document: %s", elsewhere,
		w.Of("allow that origin"))
}

// isPort reports whether a port of an address is one, or is not given.
func isPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil
}

func isAllowed(u *url.URL, origins []string) bool {
	return slices.ContainsFunc(origins, func(o string) bool { return origin.Same(o, u.String()) })
}

// What a list of servers may be: each operation can have one.
const (
	maxServers = 64 << 10 // bytes of the list
	maxAddress = 2 << 10  // bytes of an address, and of what fills a variable
)

// serverList holds what was read of a list of servers, and what is wrong with it.
type serverList struct {
	addresses, wrong []string
	err              error
}

// serversOf reads a list once, for all operations that have the same.
func (d *Document) serversOf(words json.RawMessage) *serverList {
	if len(words) > maxServers {
		words = words[:maxServers+1] // too much, whatever follows
	}
	return once(d, &d.lists, string(words), func() *serverList {
		addresses, wrong, err := readServers(words)
		return &serverList{addresses, wrong, err}
	})
}

// readServers returns the addresses of a list of servers, their variables filled with their
// defaults (OpenAPI 4.8.5). A default is not looked into for other variables. It returns none where
// there is no list, and where nothing of it can be read: wrong says what. An error means that there
// are addresses, and none of them can be known.
func readServers(words json.RawMessage) (addresses, wrong []string, err error) {
	if len(words) == 0 || string(words) == "null" {
		return nil, nil, nil
	}
	if len(words) > maxServers {
		return nil, nil, fmt.Errorf("its servers have more than %d KiB", maxServers>>10)
	}
	var all []json.RawMessage
	if json.Unmarshal(words, &all) != nil {
		all = []json.RawMessage{words} // one without the list around it
	}
	for _, one := range all {
		var s struct {
			URL       string `json:"url"`
			Variables map[string]json.RawMessage
		}
		more, e := take(one, &s)
		if e != nil { // some write the address alone
			more, _ = take(fmt.Appendf(nil, `{"url":%s}`, one), &s)
		}
		if s.URL == "" {
			wrong = append(wrong, "it must be a list of objects with url")
			continue
		}
		wrong = append(wrong, more...)
		address, e := fillServer(s.URL, s.Variables)
		if e != nil {
			err = e
			continue
		}
		addresses = append(addresses, address)
	}
	if len(addresses) > 0 && err != nil { // the others are there
		wrong, err = append(wrong, err.Error()), nil
	}
	return addresses, wrong, err
}

// fillServer fills the variables of a server's address.
func fillServer(address string, variables map[string]json.RawMessage) (string, error) {
	long := len(address) > maxAddress
	var filled []string
	for name, words := range variables {
		var v struct {
			Default json.RawMessage
			Enum    []json.RawMessage
		}
		_, _ = take(words, &v) // what is no object has none
		if len(v.Default) == 0 && len(v.Enum) == 1 {
			v.Default = v.Enum[0]
		}
		value, known := scalarText(v.Default)
		if !known {
			continue
		}
		long = long || len(value) > maxAddress
		filled = append(filled, "{"+name+"}", value)
	}
	if !long {
		for _, name := range inBraces.FindAllString(address, -1) {
			if !slices.Contains(filled, name) {
				return "", fmt.Errorf("its server %.200s cannot be known: the variable %.100s has no default", address, name)
			}
		}
		address = strings.NewReplacer(filled...).Replace(address)
	}
	if long || len(address) > maxAddress {
		return "", fmt.Errorf("its servers have addresses of more than %d bytes", maxAddress)
	}
	return address, nil
}

// scalarText returns a text, or a number as it is written.
func scalarText(words json.RawMessage) (value string, known bool) {
	if len(words) == 0 {
		return "", false
	}
	switch words[0] {
	case '"':
		return value, json.Unmarshal(words, &value) == nil
	case '{', '[', 'n':
		return "", false
	}
	return string(words), true
}
