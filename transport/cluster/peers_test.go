package cluster_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport/cluster"
)

// operate sends a request of an operator to the page of a node.
func (n *node) operate(method, path, body string, header ...string) reply {
	n.t.Helper()
	return sendTo(n.t, n.pages, operatorToken, method, path, body, header...)
}

// answeredBy returns who answered a question, as the node that asked it says.
func (n *node) answeredBy(t *testing.T, question string) string {
	t.Helper()
	err := n.bridge.Answer(bridge.Caller{Name: "late", May: []bridge.Right{bridge.MayAnswer}}, question, bridge.Answer{})
	if err == nil {
		t.Fatal("the question was open")
	}
	return bridge.AsError(err).Message
}

// TestOperatorsSeeAllNodes: the operators' page of each node lists the questions of all, shows their
// pages and takes answers, under the name of the operator; what a client says of its name counts
// nowhere. A node that ends takes its questions with it.
func TestOperatorsSeeAllNodes(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", nil), m.start("b", nil)
	consent := b.send("POST", "/webtools/shop", `{"action":"write","request":{}}`).wants(t, "consent", 403).at(t, "error", "details", "question", "id")
	parked := b.send("POST", "/webtools/shop", `{"action":"read","request":{"asks":1}}`).wants(t, "a question", 409).at(t, "error", "details", "question", "id")

	events, err := client.Do(request(t, a.pages, operatorToken, "GET", "/api/events", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	seen := bufio.NewReader(events.Body)
	until := func(parts ...string) {
		t.Helper()
		for {
			line, err := seen.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			found := true
			for _, part := range parts {
				found = found && strings.Contains(line, part)
			}
			if found {
				return
			}
		}
	}
	until(`"node":"b"`, consent, parked)

	a.operate("GET", "/api/questions", "").wants(t, "the inbox", 200, consent, parked)
	a.operate("GET", "/api/questions/"+consent, "").wants(t, "a question", 200, consent)
	if r := a.operate("GET", "/api/questions/"+parked+"/picture", "").wants(t, "a picture", 200); r.header.Get("Content-Type") != "image/png" || r.body == "" {
		t.Errorf("the picture is %q", r.body)
	}
	a.operate("GET", "/api/sites?limit=10", "").wants(t, "the sites", 200, `"node":"a"`, `"node":"b"`)
	a.operate("GET", "/api/sites/shop/tools?node=b", "").wants(t, "tools of the other node", 200, `"write"`)
	a.operate("GET", "/api/sites/shop/tools?node=c", "").wants(t, "tools of no node", 404)
	forged := []string{"Pagetools-Operator", "mallory", "Pagetools-Login", "x", cluster.HopHeader, hopTo(b, "to=operators")}
	a.operate("POST", "/api/questions/"+consent, `{"ok":true}`, forged...).wants(t, "an answer", 200)
	until(consent)
	if by := b.answeredBy(t, consent); !strings.Contains(by, "operator") || strings.Contains(by, "mallory") {
		t.Errorf("b says: %s", by)
	}
	sendTo(t, a.pages, agentToken, "POST", "/api/questions/"+parked, `{"ok":true}`, forged...).wants(t, "an agent", 403)

	m.Kill(b.ID)
	until(`"b"`)
	for { // the stream has told it; the list asks anew
		if r := a.operate("GET", "/api/questions", "").wants(t, "the inbox", 200); !strings.Contains(r.body, parked) {
			break
		}
	}
}

// TestLiveViewThroughNodes: a live view of another node's page passes both ways, with the pen, and ends
// with that node.
func TestLiveViewThroughNodes(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", nil), m.start("b", nil)
	b.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		return bridgetest.Asks(bridge.Question{Kind: bridge.Interact, Title: "Pick a seat."}, bridgetest.Then("1"))
	})
	id := b.send("POST", "/webtools/shop", `{"action":"read","request":{}}`).wants(t, "a question", 409).at(t, "error", "details", "question", "id")
	v := a.view(t, id)
	v.until(`"type":"state"`, id)
	v.say(`{"pen":true}`)
	v.until(`"pen":"operator"`, `"mine":true`)
	v.say(`{"input":{"type":"keydown","key":"a","text":"a"}}`)
	v.say(`{"input":{"type":"sing"}}`) // is answered behind it
	v.until(`"type":"error"`)
	if acts := b.Views()[0].Acts(); len(acts) != 1 || acts[0] != (bridge.Input{Type: bridge.KeyDown, Key: "a", Text: "a"}) {
		t.Errorf("the page got %v", acts)
	}
	m.Kill(b.ID)
	for {
		if _, err := v.frame(); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the view of a node that has ended goes on")
			}
			break
		}
	}
}

// viewer speaks WebSocket (RFC 6455), as little of it as a test needs.
type viewer struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (n *node) view(t *testing.T, question string) *viewer {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(n.pages, "http://"), hang)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(hang))
	r := request(t, n.pages, operatorToken, "GET", "/api/questions/"+question+"/live", "", "Connection", "Upgrade", "Upgrade", "websocket",
		"Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol", "pagetools.live.v1")
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	v := &viewer{t, conn, bufio.NewReader(conn)}
	resp, err := http.ReadResponse(v.in, r)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp, err)
	}
	return v
}

// frame reads a frame of the server.
func (v *viewer) frame() (string, error) {
	var head [2]byte
	if _, err := io.ReadFull(v.in, head[:]); err != nil {
		return "", err
	}
	n := uint64(head[1])
	switch n {
	case 126:
		var long [2]byte
		_, _ = io.ReadFull(v.in, long[:])
		n = uint64(binary.BigEndian.Uint16(long[:]))
	case 127:
		var long [8]byte
		_, _ = io.ReadFull(v.in, long[:])
		n = binary.BigEndian.Uint64(long[:])
	}
	text := make([]byte, n)
	_, err := io.ReadFull(v.in, text)
	return string(text), err
}

func (v *viewer) until(parts ...string) {
	v.t.Helper()
	for {
		text, err := v.frame()
		if err != nil {
			v.t.Fatalf("before %q: %v", parts, err)
		}
		found := true
		for _, part := range parts {
			found = found && strings.Contains(text, part)
		}
		if found {
			return
		}
	}
}

// say writes a text frame, masked with zeros.
func (v *viewer) say(text string) {
	v.t.Helper()
	if _, err := v.Write(append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...)); err != nil {
		v.t.Fatal(err)
	}
}
