package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/calls"
	"github.com/pagetools/pagetools/transport/cluster"
	"github.com/pagetools/pagetools/transport/cluster/clustertest"
	"github.com/pagetools/pagetools/transport/cluster/key"
	"github.com/pagetools/pagetools/transport/console"
	"github.com/pagetools/pagetools/transport/mcp"
	"github.com/pagetools/pagetools/transport/openapi"
	"github.com/pagetools/pagetools/transport/webtool"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

const hang = 30 * time.Second

// members are the nodes of a test's cluster.
type members struct {
	clustertest.Members

	t     testing.TB
	homes clustertest.Homes
	keys  key.Keys
}

// node is a node of a cluster, whole but for its pages.
type node struct {
	cluster.Node
	*bridgetest.Router

	t       testing.TB
	of      *members
	bridge  *bridge.Bridge
	cluster *cluster.Cluster
	console *console.Face
	url     string // of the public listener
	alone   string // of one that passes nothing on, as a process has it that is in no cluster
	pages   string // of the operators' page
	ran     atomic.Int64
	peers   *silence
	taken   taken
	hops    atomic.Int64  // requests that other nodes passed on
	waits   chan struct{} // gets each call that waits, and aborted each that is aborted
	aborted chan struct{}
	stop    func()
}

const agentToken, otherToken, operatorToken = "agent-token-of-tests", "other-token-of-tests", "operator-token-of-tests"

func newMembers(t testing.TB) *members {
	return &members{t: t, keys: key.Keys{Now: key.New()}}
}

func (m *members) namer() key.Namer { return m.keys.Namers()[0] }

// put makes a node the home of a session of the agent.
func (m *members) put(session string, n *node, epoch int64) {
	m.homes.Put(m.namer().Name("agent", session), n.ID, epoch)
}

func (m *members) listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.t.Fatal(err)
	}
	return l
}

// start starts a node.
func (m *members) start(name string, change func(*cluster.Options)) *node {
	t := m.t
	t.Helper()
	public, peers, pages, alone := m.listen(), &silence{Listener: m.listen(), begun: make(chan struct{})}, m.listen(), m.listen()
	n := &node{peers: peers, t: t, of: m, Node: m.Add(name, peers.Addr().String()), url: "http://" + public.Addr().String(), pages: "http://" + pages.Addr().String(), alone: "http://" + alone.Addr().String()}
	n.waits, n.aborted = make(chan struct{}, 100), make(chan struct{}, 100)
	n.Router = bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Asking("write", ""))
	n.Handle("shop", n.runs)
	nodes := m.As(n.Node)
	var err error
	n.bridge, err = bridge.New(n.Router, bridge.Options{Memory: bridge.Memory{Homes: &n.taken}, Node: func() string { return n.ID }, Holds: nodes.Holds, Lost: func(id string) bool {
		other, known := nodes.Find(id)
		return known && other.IsDead()
	}})
	if err != nil {
		t.Fatal(err)
	}
	id, err := cluster.NewIdentity(name, m.keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := cluster.Options{Identity: id, Nodes: nodes, Directory: &clustertest.Directory{Homes: &m.homes}, Namer: m.namer(), Patience: hang}
	if change != nil {
		change(&o)
	}
	n.cluster = cluster.New(o)
	done := make(chan struct{})
	face, err := mcp.New(n.bridge, mcp.Options{Key: m.keys.Now.Subkey(key.RequestState), Done: done})
	if err != nil {
		t.Fatal(err)
	}
	forms := webtool.Forms()
	maps.Copy(forms, openapi.Forms())
	mux := transport.NewMux(webtool.New(n.bridge, webtool.Options{}).Routes()...)
	mux.Add(calls.New(n.bridge, calls.Options{Forms: forms, Done: done}).Routes()...)
	mux.Add(face.Routes()...)
	mux.Add(openapi.New(n.bridge, openapi.Options{}).Routes()...)
	credentials := &transport.Credentials{}
	guards := transport.Options{Listen: public.Addr().String(), JSONRPCUnder: []string{"/mcp"}, MaxBodyUnder: transport.BodiesWithFiles(), Credentials: credentials}
	for name, token := range map[string]string{"agent": agentToken, "other": otherToken} {
		guards.Callers = append(guards.Callers, transport.Credential{Token: token, Caller: bridge.Caller{Name: name, May: []bridge.Right{bridge.MayCall, bridge.MayAnswer, bridge.MayElicit}}})
	}
	operator := bridge.Caller{Name: "operator", May: []bridge.Right{bridge.MayAnswer, bridge.MayCall}}
	n.console = console.New(n.bridge, console.Options{Done: done, Node: name, Peers: n.cluster.Peers})
	named := console.New(n.bridge, console.Options{Done: done, Node: name, Named: true})
	operators := transport.Trusted(transport.NewMux(named.Routes()...), operator, transport.Options{})
	plain := guards
	plain.Listen, plain.Credentials = alone.Addr().String(), nil
	servers := []*http.Server{
		serve(alone, transport.Guard(mux, plain)),
		serve(public, transport.Guard(n.cluster.Route(mux), guards)),
		serve(pages, transport.Guard(transport.NewMux(n.console.Routes()...), transport.Options{Listen: pages.Addr().String(),
			Callers: []transport.Credential{{Caller: operator, Token: operatorToken}}})),
	}
	inner := n.cluster.Listener(mux, guards, operators)
	secure := transport.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.hops.Add(1)
		inner.ServeHTTP(w, r)
	}), nil)
	secure.TLSConfig = id.Server()
	go func() { _ = secure.ServeTLS(peers, "", "") }() // ends with stop
	stopped := false
	n.stop = func() {
		if stopped {
			return
		}
		stopped = true
		close(done)
		for _, s := range append(servers, secure) {
			_ = s.Close()
		}
		n.bridge.Close()
		n.cluster.Close()
	}
	t.Cleanup(n.stop)
	return n
}

// taken are the homes of a node that was late: by is called for the next session that it would open, and
// says that another node has it.
type taken struct{ by atomic.Pointer[func()] }

func (t *taken) Elsewhere(context.Context, bridge.SessionName) (bool, error) {
	by := t.by.Swap(nil)
	if by != nil {
		(*by)()
	}
	return by != nil, nil
}

func (*taken) Here() string                                            { return "UNUSEDXX" }
func (*taken) Lives(string) bool                                       { return false }
func (*taken) Open(context.Context, bridge.SessionName) (int64, error) { return 1, nil }
func (*taken) Close(context.Context, int64) error                      { return nil }

// silence is a listener whose connections go silent when begun is closed, as where packets are lost.
type silence struct {
	net.Listener

	begun    chan struct{}
	accepted atomic.Int64
	breaks   atomic.Bool // the next reply ends its connection instead
}

func (s *silence) is() bool {
	select {
	case <-s.begun:
		return true
	default:
		return false
	}
}

func (s *silence) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	s.accepted.Add(1)
	return silenced{c, s}, err
}

type silenced struct {
	net.Conn

	s *silence
}

func (c silenced) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err != nil || !c.s.is() {
			return n, err
		}
	}
}

func (c silenced) Write(p []byte) (int, error) {
	if c.s.is() {
		return len(p), nil
	}
	if c.s.breaks.Swap(false) {
		_ = c.Close()
	}
	return c.Conn.Write(p)
}

func serve(l net.Listener, h http.Handler) *http.Server {
	s := transport.Server(h, slog.New(slog.DiscardHandler))
	go func() { _ = s.Serve(l) }() // ends with Close
	return s
}

// runs runs the tools of a node: {"asks":1} asks in the page, {"saves":1} saves a file, and {"waits":1}
// runs until its request ends. Every call says which node it ran on.
func (n *node) runs(ctx context.Context, inv bridge.Invocation) bridge.Step {
	n.ran.Add(1)
	in := bridgetest.JSON(string(inv.Input))
	at := fmt.Sprintf(`{"node":%q}`, n.Name)
	switch {
	case in.Get("asks").Exists():
		return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm, Title: "Sure?"}, bridgetest.Then(at))
	case in.Get("saves").Exists():
		return bridgetest.Saving(bridge.File{Name: "a.txt", Data: []byte("hello")})(ctx, inv)
	case in.Get("waits").Exists():
		n.waits <- struct{}{}
		<-ctx.Done()
		n.aborted <- struct{}{}
		return bridge.GaveUp(bridge.Unknown).Step()
	}
	return bridge.Step{Data: json.RawMessage(at)}
}

// reply is the reply to a request, read.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request of the agent; header has names and values in turns.
func (n *node) send(method, path, body string, header ...string) reply {
	n.t.Helper()
	return sendTo(n.t, n.url, agentToken, method, path, body, header...)
}

func request(t testing.TB, base, token, method, path, body string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func sendTo(t testing.TB, base, token, method, path, body string, header ...string) reply {
	t.Helper()
	resp, err := client.Do(request(t, base, token, method, path, body, header...))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// client keeps no connection, so that the end of a test leaves none.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: hang}

// wants checks a reply.
func (r reply) wants(t *testing.T, what string, status int, parts ...string) reply {
	t.Helper()
	if r.status != status {
		t.Fatalf("%s: %d %s", what, r.status, r.body)
	}
	for _, part := range parts {
		if !strings.Contains(r.body, part) {
			t.Fatalf("%s: %s has no %s", what, r.body, part)
		}
	}
	return r
}

// at returns the text of a member of the reply, by the names on its way.
func (r reply) at(t *testing.T, names ...string) string {
	t.Helper()
	v := bridgetest.JSON(r.body)
	for _, name := range names {
		v = v.Get(name)
	}
	if !v.IsString() {
		t.Fatalf("%v is no text in %s", names, r.body)
	}
	return v.String()
}
