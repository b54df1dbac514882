package serve_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// rowsPage has, besides the tools of draining, one that saves a file and one that changes the list.
const rowsPage = draining + `
add('save', () => { const a = document.createElement('a'); a.href = URL.createObjectURL(new Blob(['of a page'], {type: 'text/plain'})); a.download = 'list.txt'; a.click(); return 'saved'; });
add('sign', async (_, client) => { await client.requestUserInteraction(() => new Promise((r) => { onkeydown = r; })); return 'signed'; });
add('more', () => { add('rest', () => 'rest'); return 'added'; });`

// answerToken is of a caller that may answer its own questions.
const answerToken = "a-token-of-a-caller-that-may-answer"

// TestRowsOfNodes: what a client got from one node goes on through the other: calls that
// outlive their request, tasks and streams of MCP, the card, files, batches, and links of the operators' page.
func TestRowsOfNodes(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	shop, visited := pageOf(t, rowsPage)
	config := clusterCallers + fmt.Sprintf("  - {name: answers, token: %s, may: [call, answer]}\n", answerToken)
	one := c.start(t, "a", config+"# browsers: its own, whose files it reads\n", suite.Start, "--task-after", "100ms", "--drain-time", "100ms", "shop="+shop)
	two := c.start(t, "b", config, suite.Start, "--task-after", "100ms", "shop="+shop)
	t.Cleanup(func() { _ = one.Stop() }) // with its browser
	handlesOfNodes(t, one, two, visited)
	answersOfNodes(t, one, two)
	penOfNodes(t, one, two)
	tasksOfNodes(t, one, two)
	cardOfNodes(t, one, two)
	filesOfNodes(t, one, two)
	batchesOfNodes(t, one, two)
	streamOfNodes(t, one, two)
	linksOfNodes(t, c, one, two)
}

// handlesOfNodes: a call that outlives its request is watched and cancelled through the other node.
func handlesOfNodes(t *testing.T, one, two *node, visited *visits) {
	t.Helper()
	at := one.later(t, suite.AgentToken, "slow")
	if !suite.Within(suite.ReplyWithin, func() bool { return visited.of("/began") == 1 }) {
		t.Fatal("it does not begin")
	}
	if r := two.As(t, suite.AgentToken, http.MethodDelete, two.URL+at, ""); r.Status != http.StatusAccepted {
		t.Errorf("cancelling it: %d %s", r.Status, r.Body)
	}
	if r := one.As(t, suite.AgentToken, http.MethodGet, one.URL+at+"?wait=60", ""); !strings.Contains(string(r.Body), `"state":"cancelled"`) {
		t.Errorf("what was cancelled through the other node: %d %s", r.Status, r.Body)
	}
	at = one.later(t, suite.AgentToken, "inc")
	r := two.In(t.Context(), suite.AgentToken, http.MethodGet, two.URL+at, "", "Accept", "text/event-stream")
	if !strings.Contains(string(r.Body), "event: call") || !strings.Contains(string(r.Body), `"state":"completed"`) {
		t.Errorf("its events through the other node: %d %s", r.Status, r.Body)
	}
}

// later begins a call that outlives its request, and returns its address.
func (n *node) later(t *testing.T, token, tool string) (at string) {
	t.Helper()
	r := n.In(t.Context(), token, http.MethodPost, n.URL+"/webtools/shop", fmt.Sprintf(`{"action":%q,"request":{}}`, tool), "Prefer", "respond-async")
	if at = r.Header.Get("Location"); r.Status != http.StatusAccepted || !strings.HasPrefix(at, "/calls/") {
		t.Fatalf("a call that outlives its request: %d %s", r.Status, r.Body)
	}
	return at
}

// answersOfNodes: a caller that may answer does so through the other node, with the call and at its address.
func answersOfNodes(t *testing.T, one, two *node) {
	t.Helper()
	question, token := suite.AsksFor(t, one.Server, answerToken, "shop", "", "ask", "{}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	if r := two.As(t, answerToken, http.MethodPost, two.URL+"/webtools/shop", fmt.Sprintf(
		`{"action":"ask","request":{},"config":{"resume":%q,"answer":{"question":%q,"ok":true},"wait":20000}}`, token, question["id"])); !strings.Contains(string(r.Body), `"data":"yes"`) {
		t.Errorf("an answer through the other node: %d %s", r.Status, r.Body)
	}
	at := one.later(t, answerToken, "ask")
	var asked longReply
	if !suite.Within(suite.ReplyWithin, func() bool {
		r := two.As(t, answerToken, http.MethodGet, two.URL+at+"?wait=20", "")
		return json.Unmarshal(r.Body, &asked) == nil && asked.Call.Question.ID != ""
	}) {
		t.Fatalf("it does not ask: %+v", asked)
	}
	if r := two.As(t, answerToken, http.MethodPost, two.URL+at+"/answer", fmt.Sprintf(`{"question":%q,"ok":false}`, asked.Call.Question.ID)); r.Status >= 300 {
		t.Errorf("an answer at its address: %d %s", r.Status, r.Body)
	}
	if !suite.Within(suite.ReplyWithin, func() bool {
		return strings.Contains(string(one.As(t, answerToken, http.MethodGet, one.URL+at+"?wait=20", "").Body), `"data":"no"`)
	}) {
		t.Error("the answer at its address does not count")
	}
}

// penOfNodes: a person at the operators' page of a node takes the pen of a page of the other one, and acts in it.
func penOfNodes(t *testing.T, one, two *node) {
	t.Helper()
	const sign = `{"action":"sign","sessionId":"pen","request":{}`
	call := func(n *node, body string) suite.Reply {
		return n.In(t.Context(), suite.AgentToken, http.MethodPost, n.URL+"/webtools/shop", body)
	}
	question, token := call(one, sign+"}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	seen := viewOf(t, two.Server, "questions/"+fmt.Sprint(question["id"]))
	orders := func(text string) {
		t.Helper()
		if _, err := seen.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}
	orders(`{"pen":true}`)
	hears(t, seen, "the pen of a page of the other node", func(s liveState) bool { return s.Pen == "console" })
	orders(`{"input":{"type":"keydown","key":"x","code":"KeyX"}}`)
	if r := call(two, fmt.Sprintf(`%s,"config":{"resume":%q,"wait":20000}}`, sign, token)); !strings.Contains(string(r.Body), `"data":"signed"`) {
		t.Errorf("what was done there: %d %s", r.Status, r.Body)
	}
}

// What clients of MCP declare.
var (
	ofTask = map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}
	ofApps = map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/ui": map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}}}}
)

// tasksOfNodes: a task is followed, read and cancelled through the other node.
func tasksOfNodes(t *testing.T, one, two *node) {
	t.Helper()
	begins := func() string {
		t.Helper()
		made := one.rpc(t, "tools/call", ofTask, map[string]any{"name": "slow", "arguments": map[string]any{}})
		id, _ := made["taskId"].(string)
		if id == "" {
			t.Fatalf("a task is %v", made)
		}
		return id
	}
	id := begins()
	heard := string(two.ask(t, "subscriptions/listen", ofTask, map[string]any{"notifications": map[string]any{"taskIds": []string{id}}}).Body)
	if !strings.Contains(heard, `"notifications/tasks"`) || !strings.Contains(heard, `"status":"completed"`) {
		t.Errorf("a stream about a task at the other node: %s", heard)
	}
	if is := two.rpc(t, "tasks/get", ofTask, map[string]any{"taskId": id}); !strings.Contains(fmt.Sprint(is["result"]), "slow") {
		t.Errorf("the task at the other node: %v", is)
	}
	if r := two.As(t, suite.AgentToken, http.MethodGet, two.URL+"/calls/"+id, ""); !strings.Contains(string(r.Body), `"state":"completed"`) {
		t.Errorf("its address at the other node: %d %s", r.Status, r.Body)
	}
	id = begins()
	two.rpc(t, "tasks/cancel", ofTask, map[string]any{"taskId": id})
	if !suite.Within(suite.ReplyWithin, func() bool {
		return one.rpc(t, "tasks/get", ofTask, map[string]any{"taskId": id})["status"] == "cancelled"
	}) {
		t.Error("a task that was cancelled through the other node goes on")
	}
}

// cardOfNodes: the card of one node's question is read, and answered, through the other one.
func cardOfNodes(t *testing.T, one, two *node) {
	t.Helper()
	call := map[string]any{"name": "ask", "arguments": map[string]any{}}
	asked := one.rpc(t, "tools/call", ofApps, call)
	ticket := regexp.MustCompile(`ticket:([\w-]+)`).FindStringSubmatch(fmt.Sprint(asked["_meta"]))
	page := fmt.Sprint(two.rpc(t, "resources/read", ofApps, map[string]any{"uri": "ui://pagetools/card"})["contents"])
	key := regexp.MustCompile(`[^A-Za-z0-9_-]([A-Za-z0-9_-]{43})[^A-Za-z0-9_-]`).FindStringSubmatch(page)
	if ticket == nil || key == nil {
		t.Fatalf("the call that asks is %v, and the card has %d bytes", asked, len(page))
	}
	secret, err := base64.RawURLEncoding.DecodeString(key[1])
	if err != nil {
		t.Fatal(err)
	}
	card := func(op, rest string, more map[string]any) string {
		t.Helper()
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(ticket[1] + "\n" + op + "\n" + rest))
		arguments := map[string]any{"ticket": ticket[1], "op": op, "proof": base64.RawURLEncoding.EncodeToString(mac.Sum(nil))}
		maps.Copy(arguments, more)
		return fmt.Sprint(two.rpc(t, "tools/call", ofApps, map[string]any{"name": "pagetools_card", "arguments": arguments}))
	}
	if is := card("state", "{}", nil); !strings.Contains(is, "state:input_required") || !strings.Contains(is, "Now?") {
		t.Errorf("the card at the other node shows %s", is)
	}
	if is := card("answer", `{"ok":true}`, map[string]any{"ok": true}); strings.Contains(is, "isError:true") {
		t.Errorf("its answer at the other node: %s", is)
	}
	if !suite.Within(suite.ReplyWithin, func() bool {
		return strings.Contains(fmt.Sprint(one.rpc(t, "tools/call", ofApps, call)["content"]), "text:yes")
	}) {
		t.Error("the answer of the card does not count")
	}
}

// filesOfNodes: a file that a call saved is had through the other node, over HTTP and MCP.
func filesOfNodes(t *testing.T, one, two *node) {
	t.Helper()
	var saved struct {
		Details struct{ Files []struct{ ID string } }
	}
	r := suite.AsksFor(t, one.Server, suite.AgentToken, "shop", "", "save", "{}")
	if err := json.Unmarshal(r.Body, &saved); err != nil || len(saved.Details.Files) != 1 {
		t.Fatalf("a call that saves: %d %s", r.Status, r.Body)
	}
	id := saved.Details.Files[0].ID
	if r := two.As(t, suite.AgentToken, http.MethodGet, two.URL+"/files/"+id, ""); string(r.Body) != "of a page" {
		t.Errorf("a file at the other node: %d %s", r.Status, r.Body)
	}
	if r := two.As(t, suite.PersonToken, http.MethodGet, two.URL+"/files/"+id, ""); r.Status != http.StatusNotFound {
		t.Errorf("another caller gets it: %d %s", r.Status, r.Body)
	}
	if is := two.rpc(t, "resources/read", forms, map[string]any{"uri": "pagetools://files/" + id}); !strings.Contains(fmt.Sprint(is), "text:of a page") {
		t.Errorf("a file over MCP at the other node: %v", is)
	}
}

// batchesOfNodes: a batch runs in its session, wherever that is, and under a key once, whichever node it
// comes back to.
func batchesOfNodes(t *testing.T, one, two *node) {
	t.Helper()
	batch := func(n *node, key, body string) suite.Reply {
		t.Helper()
		header := []string{}
		if key != "" {
			header = []string{"Idempotency-Key", key}
		}
		return n.In(t.Context(), suite.AgentToken, http.MethodPost, n.URL+"/webtools/shop/batch", body, header...)
	}
	const steps = `"steps":[{"id":"a","action":"inc","request":{}},{"id":"b","action":"inc","request":{}}]}`
	suite.AsksFor(t, one.Server, suite.AgentToken, "shop", "in-order", "inc", "{}").OK(t)
	if r := batch(two, "", `{"sessionId":"in-order",`+steps); !strings.Contains(string(r.Body), `"data":2`) || !strings.Contains(string(r.Body), `"data":3`) {
		t.Errorf("a batch in a session of the other node: %d %s", r.Status, r.Body)
	}
	first := batch(one, "key-of-batch", "{"+steps)
	if r := batch(two, "key-of-batch", "{"+steps); r.Status != http.StatusOK || string(r.Body) != string(first.Body) || !strings.Contains(string(r.Body), `"data":2`) {
		t.Errorf("a batch under its key, at the other node: %d %s, not %s", r.Status, r.Body, first.Body)
	}
	const asks = `{"steps":[{"id":"a","action":"inc","request":{}},{"id":"b","action":"ask","request":{}},{"id":"c","action":"inc","request":{}}]}`
	question, _ := batch(one, "key-of-asking", asks).Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	answers(t, two.Server, question)
	r := suite.Reply{}
	if !suite.Within(suite.ReplyWithin, func() bool {
		r = batch(two, "key-of-asking", asks)
		return strings.Contains(string(r.Body), `"data":"yes"`) // until then, its step still runs
	}) || !strings.Contains(string(r.Body), `{"id":"c","status":"ok","data":2}`) {
		t.Errorf("a batch that was asked about, at the other node: %d %s", r.Status, r.Body)
	}
}

// streamOfNodes: the stream of a session of MCP says through the other node that its list has changed.
func streamOfNodes(t *testing.T, one, two *node) {
	t.Helper()
	session := begin(t, two.Server, "/mcp/shop")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, one.URL+"/mcp/shop", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + suite.AgentToken}, "Mcp-Session-Id": {session}, "Accept": {"text/event-stream"}}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the stream: %v, %v", res, err)
	}
	defer func() { _ = res.Body.Close() }()
	changed := make(chan bool, 1)
	go func() { // ends with the stream
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "notifications/tools/list_changed") {
				changed <- true
				return
			}
		}
		changed <- false
	}()
	if r := mcpPost(t, one.Server, http.MethodPost, "/mcp/shop", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"more","arguments":{}}}`, "Mcp-Session-Id", session); !strings.Contains(string(r.Body), `"text":"added"`) {
		t.Errorf("a call of the session: %d %s", r.Status, r.Body)
	}
	if !<-changed {
		t.Error("the stream ends without a word about the list")
	}
}

// TestSignInOfNodes: a client that a person let in through several nodes, each of which got some of the
// requests, is in at all of them; what one ends is over at every other, and outlives the node that began it.
func TestSignInOfNodes(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	shop, _ := pageOf(t, draining)
	config := clusterCallers + fmt.Sprintf("public-url: %s\noauth: {built-in: {people: [{name: ann}]}}\n", suite.PublicURL)
	one, two := c.start(t, "a", config, suite.Start, "shop="+shop), c.start(t, "b", config, suite.Start, "shop="+shop)
	at := func(n *node) *reloading { return &reloading{t: t, Server: n.Server, data: n.data} }
	calls := func(n *node, token string) int {
		return suite.AsksFor(t, n.Server, token, "shop", "", "inc", "{}").Status
	}
	first, refresh := at(one).letIn("ann", one, two)
	second, _ := at(two).letIn("ann", one, two)
	for _, n := range []*node{one, two} {
		if a, b := calls(n, first), calls(n, second); a != http.StatusOK || b != http.StatusOK {
			t.Errorf("clients that were let in get %d and %d", a, b)
		}
	}
	ids := func(n *node) []string {
		t.Helper()
		list, _ := at(n).pairs(0, "--list")
		return regexp.MustCompile(`(?m)^[A-Z2-7]{8}`).FindAllString(list, -1)
	}
	if a, b := ids(one), ids(two); len(a) != 2 || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Fatalf("the nodes list %s and %s", a, b)
	}
	stream := at(one).listens(t.Context(), second)
	at(two).pairs(0, "--revoke", ids(two)[1])
	<-stream
	for _, n := range []*node{one, two} {
		if !suite.Within(suite.ReplyWithin, func() bool { return calls(n, second) == http.StatusUnauthorized }) {
			t.Error("a client that one node ended is in at another")
		}
	}
	_ = one.Cmd.Process.Kill()
	<-one.Ended
	var got struct {
		Access string `json:"access_token"`
	}
	client := regexp.MustCompile(`"client": *"([^"]+)"`)
	list, _ := at(two).pairs(0, "--list", "--json")
	named := client.FindStringSubmatch(list)
	if named == nil {
		t.Fatalf("the list: %s", list)
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {named[1]}}
	r := two.In(t.Context(), "", http.MethodPost, two.URL+"/oauth/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	if json.Unmarshal(r.Body, &got) != nil || got.Access == "" || calls(two, got.Access) != http.StatusOK {
		t.Errorf("a token of a node that was killed: %d %s", r.Status, r.Body)
	}
}

// linksOfNodes: a link that one node made logs in at the other one, once; the login counts at both, each lists it
// once, and what ends it at one ends its streams at the other. The engine sees no secret of it.
func linksOfNodes(t *testing.T, c *nodes, one, two *node) {
	t.Helper()
	secrets := []string{}
	logIn := func(made, opened *node) (token, id string) {
		t.Helper()
		shown := converse(t, "console", "--data-dir", made.data)
		shown.see(t, "#once=")
		link := onceLink.FindStringSubmatch(shown.shown.String())
		if code := shown.code(t); code != 0 || link == nil {
			t.Fatalf("console ended with %d: %s", code, shown.shown)
		}
		body := fmt.Sprintf(`{"code":%q}`, link[2])
		r := opened.As(t, "", http.MethodPost, opened.Ready.Console.URL+"/api/login", body)
		var in struct{ Token string }
		if err := json.Unmarshal(r.Body, &in); err != nil || r.Status != http.StatusOK || in.Token == "" {
			t.Fatalf("the link of the other node: %d %s", r.Status, r.Body)
		}
		for _, n := range []*node{one, two} {
			if r := n.As(t, "", http.MethodPost, n.Ready.Console.URL+"/api/login", body); r.Status != http.StatusForbidden {
				t.Errorf("a second time: %d %s", r.Status, r.Body)
			}
		}
		secrets = append(secrets, link[2], in.Token)
		for _, n := range []*node{one, two} {
			var list struct {
				Items []struct {
					ID      string
					Current bool
				}
			}
			r := n.As(t, in.Token, http.MethodGet, n.Ready.Console.URL+"/api/logins", "")
			if err := json.Unmarshal(r.Body, &list); err != nil || len(list.Items) != len(secrets)/2 || !list.Items[len(list.Items)-1].Current {
				t.Fatalf("the logins: %d %s", r.Status, r.Body)
			}
			id = list.Items[len(list.Items)-1].ID
		}
		return in.Token, id
	}
	stays, _ := logIn(one, two)
	ends, id := logIn(two, one)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, one.Ready.Console.URL+"/api/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+ends)
	stream, err := http.DefaultClient.Do(req)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream: %v, %v", stream, err)
	}
	defer func() { _ = stream.Body.Close() }()
	if r := two.As(t, stays, http.MethodDelete, two.Ready.Console.URL+"/api/logins/"+id, ""); r.Status != http.StatusOK {
		t.Errorf("ending it at the other node: %d %s", r.Status, r.Body)
	}
	_, _ = io.Copy(io.Discard, stream.Body) // it ends with the login
	for _, n := range []*node{one, two} {
		for token, want := range map[string]int{ends: http.StatusForbidden, stays: http.StatusOK} {
			if r := n.As(t, token, http.MethodGet, n.Ready.Console.URL+"/api/me", ""); r.Status != want {
				t.Errorf("logged in: %d %s, want %d", r.Status, r.Body, want)
			}
		}
	}
	nothingTelling(t, bucketsOf(t, c), "t.ONCE-", secrets...)
}
