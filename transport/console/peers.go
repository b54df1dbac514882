package console

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// peerTime limits how long another process may take for a short answer.
const peerTime = 2 * time.Second

// fromPeer makes a request to another process. The status of the reply is 200.
func fromPeer(ctx context.Context, peer http.RoundTripper, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://console"+path, http.NoBody) //nolint:gosec // whatever the path is, it goes to that process
	if err != nil {
		return nil, fmt.Errorf("asking another process: %w", err)
	}
	resp, err := peer.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("asking another process: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("another process answers %d", resp.StatusCode)
	}
	return resp, nil
}

// lookEvery sets how often it is seen whether another process has begun.
const lookEvery = time.Second

// followEach calls follow for each process that is there, and for each that comes later, or comes back,
// until ctx ends. It returns when all of them have.
func followEach(ctx context.Context, peers func() map[string]http.RoundTripper, follow func(name string, peer http.RoundTripper)) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var mu sync.Mutex
	followed := map[string]bool{}
	var all sync.WaitGroup
	defer all.Wait()
	for {
		for name, peer := range peers() {
			mu.Lock()
			if !followed[name] {
				followed[name] = true
				all.Go(func() {
					follow(name, peer)
					mu.Lock()
					defer mu.Unlock()
					delete(followed, name)
				})
			}
			mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// readPeer reads the server-sent events of another process, until it ends or take returns false. One of
// more than most bytes ends them, too.
func readPeer(ctx context.Context, peer http.RoundTripper, path string, most int, take func(event string, data []byte) bool) error {
	resp, err := fromPeer(ctx, peer, path)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, most)
	event := ""
	for lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "event":
			event = value
		case "data":
			if !take(event, []byte(value)) {
				return nil
			}
		}
	}
	return lines.Err() //nolint:wrapcheck // the caller starts again
}

// eachPeer asks all these processes at once, and hands over what they say, one at a time.
// Those that say nothing in time are left out, and returned.
func eachPeer(ctx context.Context, peers map[string]http.RoundTripper, path string,
	take func(name string, resp *http.Response)) (late []string) {
	ctx, cancel := context.WithTimeout(ctx, peerTime)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, peer := range peers {
		all.Go(func() {
			resp, err := fromPeer(ctx, peer, path)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				if ctx.Err() != nil { // one that ended has not this cause
					late = append(late, name)
				}
				return
			}
			defer func() { _ = resp.Body.Close() }()
			take(name, resp)
		})
	}
	all.Wait()
	slices.Sort(late)
	return late
}

// Live returns the processes that answer.
func Live(ctx context.Context, peers map[string]http.RoundTripper) map[string]http.RoundTripper {
	live := map[string]http.RoundTripper{}
	eachPeer(ctx, peers, "/api/console", func(name string, _ *http.Response) { live[name] = peers[name] })
	return live
}

// Ask lists the questions of all these processes, the oldest first.
func Ask(ctx context.Context, peers map[string]http.RoundTripper) []bridge.OpenQuestion {
	list := []bridge.OpenQuestion{}
	eachPeer(ctx, peers, "/api/questions", func(_ string, resp *http.Response) {
		var theirs Questions
		if json.NewDecoder(resp.Body).Decode(&theirs) == nil {
			list = append(list, theirs.Questions...)
		}
	})
	slices.SortFunc(list, func(a, b bridge.OpenQuestion) int { return a.Since.Compare(b.Since) })
	return list
}

// Holder returns the process that asks the question, or that asked it; nil when none did.
func Holder(ctx context.Context, peers map[string]http.RoundTripper, id string) (holder http.RoundTripper) {
	eachPeer(ctx, peers, "/api/questions/"+url.PathEscape(id),
		func(name string, _ *http.Response) { holder = peers[name] })
	return holder
}

// Page returns the address of a page for operators that one of these processes serves, or
// "", and that process.
func Page(ctx context.Context, peers map[string]http.RoundTripper) (address string, by http.RoundTripper) {
	eachPeer(ctx, peers, "/api/console", func(name string, resp *http.Response) {
		var theirs pageAddress
		if json.NewDecoder(resp.Body).Decode(&theirs) == nil && theirs.URL != "" {
			address, by = theirs.URL, peers[name]
		}
	})
	return address, by
}

// elsewhere passes a request about a question of another process on to that process. The other one
// takes it from an operator, so that the right is checked here.
func (f *Face) elsewhere(right bridge.Right, serve operation) http.HandlerFunc {
	here := f.with(right, serve)
	return func(w http.ResponseWriter, r *http.Request) {
		c, id := transport.CallerOf(r.Context()), r.PathValue("id")
		if !c.Can(right) || !f.mayLookElsewhere(c) || f.b.Asked(id) {
			here(w, r)
			return
		}
		holder := Holder(r.Context(), f.peers(), id)
		if holder == nil {
			here(w, r) // which says that there is no such question
			return
		}
		passOn(holder, c).ServeHTTP(w, r)
	}
}

// passOn passes requests of an operator on to another process.
func passOn(to http.RoundTripper, c bridge.Caller) http.Handler {
	return &httputil.ReverseProxy{Transport: to,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", "console", "console"
			p.Out.Header.Del("Authorization")
			p.Out.Header.Del("Origin")
			if offered := p.Out.Header.Get("Sec-WebSocket-Protocol"); offered != "" { // with a credential
				p.Out.Header.Set("Sec-WebSocket-Protocol", LiveProtocol)
			}
			p.Out.Header.Set(OperatorHeader, c.Name)
			p.Out.Header.Del(loginHeader)
			if login := loginOf(c); login != "" {
				p.Out.Header.Set(loginHeader, login)
			}
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			transport.WriteError(w, r, bridge.Errorf(bridge.Conflict, "", bridge.Unknown,
				"The process that this is for does not answer any more. It may have taken the request.").With(err))
		}}
}

// atNode passes a request about a site of the process that ?node= names on to that process.
func (f *Face) atNode(serve operation) http.HandlerFunc {
	here := f.viewing(serve)
	return func(w http.ResponseWriter, r *http.Request) {
		c, node := transport.CallerOf(r.Context()), r.URL.Query().Get("node")
		if node == "" || node == f.node || !c.Can(bridge.MayView) {
			here(w, r)
			return
		}
		var peer http.RoundTripper
		if f.mayLookElsewhere(c) {
			peer = f.peers()[node]
		}
		if peer == nil {
			transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "The process of this site does not run any more."))
			return
		}
		passOn(peer, c).ServeHTTP(w, r)
	}
}

// Questions is the API's list of the calls that wait.
type Questions struct {
	Questions []bridge.OpenQuestion `json:"questions"`
}
