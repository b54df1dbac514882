package console_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// confirmed is the body of a call of buy with what a person saw of it.
func (p *page) confirmed(t *testing.T, token, key, input, level string) string {
	t.Helper()
	var tools struct {
		Items []struct{ Name, Digest string }
	}
	if _, body := p.as(t, token, http.MethodGet, "/api/sites/shop/tools", ""); json.Unmarshal([]byte(body), &tools) != nil || len(tools.Items) == 0 {
		t.Fatalf("the tools are %s", body)
	}
	sum := sha256.Sum256([]byte(input))
	return fmt.Sprintf(`{"site":"shop","tool":"buy","input":%s,"key":%q,"confirm":{"definition":%q,"arguments":%q,"level":%q}}`, input, key, tools.Items[0].Digest, hex.EncodeToString(sum[:]), level)
}

// made makes a call, and returns its id.
func (p *page) made(t *testing.T, token, body string) string {
	t.Helper()
	status, reply := p.as(t, token, http.MethodPost, "/api/calls", body)
	var made struct{ Call string }
	if json.Unmarshal([]byte(reply), &made) != nil || status != http.StatusAccepted || made.Call == "" {
		t.Fatalf("%s: %d %s", body, status, reply)
	}
	return made.Call
}

// became waits until a call got to a stage, and returns it.
func (p *page) became(t *testing.T, token, id, stage string) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		status, body := p.as(t, token, http.MethodGet, "/api/calls/"+id, "")
		if status != http.StatusOK || time.Now().After(end) {
			t.Fatalf("%d %s", status, body)
		}
		if strings.Contains(body, `"stage":"`+stage+`"`) {
			return body
		}
	}
}

// TestRunByHand: a person runs a tool on the page, and reads what it came to, with every number as it
// was; what they saw is their consent, and what is different is not.
func TestRunByHand(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	ada, bob := p.login(t, "ada"), p.login(t, "bob")
	const input = `{"a":1.10,"b":-0,"c":"\u00e4"}`
	id := p.made(t, ada, `{"site":"shop","tool":"find","input":`+input+`,"key":"k1"}`)
	body := p.became(t, ada, id, "ended")
	if !strings.Contains(body, `"input":`+input) || !strings.Contains(body, `"outcome":"ok"`) || !strings.Contains(body, `"caller":"console:ada"`) || strings.Contains(body, `"result":null`) {
		t.Errorf("it came to %s", body)
	}
	if again := p.made(t, ada, `{"site":"shop","tool":"find","input":`+input+`,"key":"k1"}`); again != id || len(p.Router.Calls()) != 1 {
		t.Errorf("pressed twice: %s and %s, %v", id, again, p.Router.Calls())
	}
	for name, token := range map[string]string{"bob": bob, "the answerer": answerer} {
		if status, body := p.as(t, token, http.MethodGet, "/api/calls/"+id, ""); status != http.StatusOK || !strings.Contains(body, `"input":`+input) {
			t.Errorf("%s reads %d %s", name, status, body)
		}
	}
	if status, body := p.as(t, viewing, http.MethodGet, "/api/calls/"+id, ""); status != http.StatusOK || !strings.Contains(body, `"kept":false,"input":null,"result":null`) {
		t.Errorf("the viewer reads %d %s", status, body)
	}
	if status, body := p.as(t, agent, http.MethodGet, "/api/calls/"+id, ""); status != http.StatusForbidden {
		t.Errorf("an agent reads %d %s", status, body)
	}
	if body := p.became(t, ada, p.made(t, ada, p.confirmed(t, ada, "k2", `{"x":1}`, "ask")), "ended"); !strings.Contains(body, `"outcome":"ok"`) || p.OpenQuestions() != 0 {
		t.Errorf("what was confirmed came to %s", body)
	}
	for name, body := range map[string]string{
		"level":      p.confirmed(t, ada, "k3", `{}`, "auto"),
		"arguments":  strings.Replace(p.confirmed(t, ada, "k4", `{}`, "ask"), `"input":{}`, `"input":{"more":1}`, 1),
		"definition": strings.Replace(p.confirmed(t, ada, "k5", `{}`, "ask"), `"definition":"`, `"definition":"0`, 1),
	} {
		if got := p.became(t, ada, p.made(t, ada, body), "ended"); !strings.Contains(got, "TOOL_CHANGED") || !strings.Contains(got, `"changed":"`+name+`"`) {
			t.Errorf("another %s came to %s", name, got)
		}
	}
	if n := len(p.Router.Calls()); n != 2 {
		t.Errorf("%d calls ran", n)
	}
}

// TestFilesOfRuns: what a page saves in a call that a person made is for that person.
func TestFilesOfRuns(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	ada, bob := p.login(t, "ada"), p.login(t, "bob")
	p.Router.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		return bridge.Step{Data: json.RawMessage(`{}`), Files: []bridge.File{{Name: "a.csv", Type: "text/csv", Bytes: 4, Data: []byte("a,b\n")}}}
	})
	var made struct {
		Files []struct{ ID string }
	}
	body := p.became(t, ada, p.made(t, ada, `{"site":"shop","tool":"find","input":{},"key":"k1"}`), "ended")
	if err := json.Unmarshal([]byte(body), &made); err != nil || len(made.Files) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	path := "/files/" + made.Files[0].ID
	if resp := p.send(t, ada, http.MethodGet, path, ""); resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("who made the call gets %d %v", resp.StatusCode, resp.Header)
	}
	for name, token := range map[string]string{"bob": bob, "the viewer": viewing, "an agent": agent} {
		if status, body := p.as(t, token, http.MethodGet, path, ""); status != http.StatusNotFound && status != http.StatusForbidden {
			t.Errorf("%s gets %d %s", name, status, body)
		}
	}
}

// TestRunsOfOtherNodes: a person runs tools of sites of other processes: what they saw is their consent there, too; the
// result and the files are theirs, and others, who may not call, run nothing.
func TestRunsOfOtherNodes(t *testing.T) {
	router := bridgetest.NewRouter().Add("garden", bridgetest.Asking("dig", ""))
	router.Handle("garden", func(context.Context, bridge.Invocation) bridge.Step {
		return bridge.Step{Data: json.RawMessage(`{"deep":1.10}`), Files: []bridge.File{{Name: "a.csv", Type: "text/csv", Bytes: 4, Data: []byte("a,b\n")}}}
	})
	b, err := bridge.New(router, bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	there := other{transport.Trusted(transport.NewMux(console.New(b, console.Options{Node: "there", Named: true}).Routes()...), bridge.Caller{Name: "socket", May: []bridge.Right{bridge.MayAnswer, bridge.MayCall}}, transport.Options{})}
	p := servePage(t, memory(t), console.Options{Peers: func() map[string]http.RoundTripper { return map[string]http.RoundTripper{"there": there} }})
	ada, bob := p.login(t, "ada"), p.login(t, "bob")
	var tools struct {
		Items []struct{ Digest string }
	}
	if _, body := p.as(t, ada, http.MethodGet, "/api/sites/garden/tools?node=there", ""); json.Unmarshal([]byte(body), &tools) != nil || len(tools.Items) != 1 {
		t.Fatalf("the tools are %s", body)
	}
	sum := sha256.Sum256([]byte(`{}`))
	body := fmt.Sprintf(`{"site":"garden","tool":"dig","input":{},"key":"k1","confirm":{"definition":%q,"arguments":%q,"level":"ask"}}`, tools.Items[0].Digest, hex.EncodeToString(sum[:]))
	var made struct{ Call string }
	status, reply := p.as(t, ada, http.MethodPost, "/api/calls?node=there", body)
	if json.Unmarshal([]byte(reply), &made) != nil || status != http.StatusAccepted {
		t.Fatalf("%d %s", status, reply)
	}
	got := p.became(t, ada, made.Call, "ended")
	var files struct{ Files []struct{ ID string } }
	if json.Unmarshal([]byte(got), &files) != nil || len(files.Files) != 1 || !strings.Contains(got, `"result":{"deep":1.10}`) || !strings.Contains(got, `"caller":"console:ada"`) || !strings.Contains(got, `"node":"there"`) {
		t.Fatalf("it came to %s", got)
	}
	path := "/files/" + files.Files[0].ID + "?node=there"
	if resp := p.send(t, ada, http.MethodGet, path, ""); resp.StatusCode != http.StatusOK {
		t.Errorf("who made the call gets %d", resp.StatusCode)
	}
	if status, body := p.as(t, bob, http.MethodGet, path, ""); status != http.StatusNotFound {
		t.Errorf("bob gets %d %s", status, body)
	}
	for name, token := range map[string]string{"the answerer": answerer, "the viewer": viewing, "an agent": agent} {
		if status, body := p.as(t, token, http.MethodPost, "/api/calls?node=there", `{"site":"garden","tool":"dig","input":{},"key":"k2"}`); status != http.StatusForbidden {
			t.Errorf("%s runs it: %d %s", name, status, body)
		}
	}
	if status, body := p.as(t, shopper, http.MethodPost, "/api/calls?node=there", `{"site":"garden","tool":"dig","input":{},"key":"k3"}`); status != http.StatusNotFound {
		t.Errorf("who sees some sites of this process: %d %s", status, body)
	}
	if n := len(router.Calls()); n != 1 {
		t.Errorf("%d calls ran", n)
	}
}

// TestRunsThatAsk: what nobody confirmed asks, and a credential that was configured confirms nothing; a call
// that waits is cancelled by who made it.
func TestRunsThatAsk(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	ada := p.login(t, "ada")
	id := p.made(t, ada, `{"site":"shop","tool":"buy","input":{},"key":"k1"}`)
	p.became(t, ada, id, "asked")
	list := bridgetest.Questions(p.Bridge, person)
	if len(list) != 1 || list[0].Caller != "console:ada" {
		t.Fatalf("the inbox has %+v", list)
	}
	if err := p.Answer(person, list[0].ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	if body := p.became(t, ada, id, "ended"); !strings.Contains(body, `"outcome":"ok"`) {
		t.Errorf("it came to %s", body)
	}
	id = p.made(t, ada, `{"site":"shop","tool":"buy","input":{},"key":"k2"}`)
	p.became(t, ada, id, "asked")
	if status, body := p.as(t, p.login(t, "bob"), http.MethodPost, "/api/calls/"+id+"/cancel", "{}"); status != http.StatusNotFound {
		t.Errorf("somebody else cancels it: %d %s", status, body)
	}
	if _, body := p.as(t, ada, http.MethodPost, "/api/calls/"+id+"/cancel", "{}"); body != `{"cancelled":true}` {
		t.Errorf("cancelling is %s", body)
	}
	if body := p.became(t, ada, id, "ended"); !strings.Contains(body, `"code":"CANCELLED"`) || !strings.Contains(body, `"result":null`) {
		t.Errorf("it came to %s", body)
	}
	confirmed := p.confirmed(t, shopper, "k3", `{}`, "ask")
	if status, body := p.as(t, shopper, http.MethodPost, "/api/calls", confirmed); status != http.StatusForbidden || !strings.Contains(body, "logged in by a link") {
		t.Errorf("a configured credential confirms: %d %s", status, body)
	}
	id = p.made(t, shopper, `{"site":"shop","tool":"buy","input":{},"key":"k3"}`)
	if body := p.became(t, shopper, id, "asked"); !strings.Contains(body, `"caller":"console:shopper"`) {
		t.Errorf("its call is %s", body)
	}
	for token, body := range map[string]string{viewing: `"code":"FORBIDDEN"`, agent: "right view"} {
		if status, got := p.as(t, token, http.MethodPost, "/api/calls", `{"site":"shop","tool":"find","input":{},"key":"k"}`); status != http.StatusForbidden || !strings.Contains(got, body) {
			t.Errorf("it may run: %d %s", status, got)
		}
	}
	for bad, want := range map[string]string{
		`{"tool":"find","input":{},"key":"k"}`: "site is missing", `{"site":"shop","tool":"find","key":"k"}`: "input is missing", `{"site":"shop","tool":"find","input":{}}`: "key is missing",
		`{"site":"shop","tool":"find","input":{},"key":"k","more":1}`: "unknown member", `{"site":"shop","tool":"find","input":{},"key":"k","session":1}`: "session must be a text",
		`{"site":"shop","tool":"find","input":{},"key":"k","confirm":{"level":"maybe"}}`:    "use auto, ask-once, ask or never",
		`{"site":"shop","tool":"find","input":{},"key":"` + strings.Repeat("k", 129) + `"}`: "more than 128 bytes",
	} {
		if status, body := p.as(t, ada, http.MethodPost, "/api/calls", bad); status != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
}

// TestRunsAreBounded: of many calls the newest are kept, and the rest are gone.
func TestRunsAreBounded(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	ada := p.login(t, "ada")
	var ids []string
	for n := range 130 {
		ids = append(ids, p.made(t, ada, fmt.Sprintf(`{"site":"shop","tool":"find","input":{"n":%d},"key":"k%d"}`, n, n)))
		p.became(t, ada, ids[n], "ended")
	}
	for n, want := range map[int]int{0: http.StatusNotFound, 29: http.StatusNotFound, 30: http.StatusOK, 129: http.StatusOK} {
		if status, body := p.as(t, ada, http.MethodGet, "/api/calls/"+ids[n], ""); status != want {
			t.Errorf("call %d: %d %s", n, status, body)
		}
	}
}
