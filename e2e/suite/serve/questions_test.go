package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

var purchases = flag.Int("purchases", 30, "how often TestPurchases buys")

const questionsConfig = `
sites:
  - {name: shop, target: %q, approval: {default: auto}}
  - {name: strict, target: %q}
callers:
  - {name: agent, token: agent-token-of-the-tests, may: [call]}
  - {name: person, token: person-token-of-the-tests, may: [call, answer]}
limits: {question: %s}
`

// shop serves the tea shop, to an agent and to a person.
func shop(t *testing.T, question string, more ...string) *suite.Server {
	t.Helper()
	folder := filepath.Join(docs.Root(t), "examples", "buyproduct")
	config := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, questionsConfig, folder, folder, question), 0o600); err != nil {
		t.Fatal(err)
	}
	return suite.Serve(t, append([]string{"--config", config}, more...)...)
}

// buys makes the body of a purchase.
func buys(session, config string) string {
	if config != "" {
		config = `,"config":` + config
	}
	return fmt.Sprintf(`{"sessionId":%q,"action":"buyProduct","request":{"product_id":"sencha"}%s}`, session, config)
}

// orders returns how many the page of a session has.
func orders(t *testing.T, s *suite.Server, token, session string) int {
	t.Helper()
	r := s.As(t, token, http.MethodPost, s.URL+"/webtools/shop", fmt.Sprintf(`{"sessionId":%q,"action":"listOrders","request":{}}`, session))
	var list struct{ Orders []string }
	if err := json.Unmarshal(r.Data(t), &list); err != nil {
		t.Fatal(err)
	}
	return len(list.Orders)
}

// TestPurchases buys again and again, with whatever people and clients do: agree,
// decline, answer late or never, leave and come back. The page ran each purchase
// once, and only those that were agreed to.
func TestPurchases(t *testing.T) {
	t.Parallel()
	s := shop(t, "400ms", "--console-listen", "127.0.0.1:0")
	post := func(token, body string) suite.Reply {
		return s.As(t, token, http.MethodPost, s.URL+"/webtools/shop", body)
	}
	answer := func(id any, ok bool) suite.Reply {
		return s.As(t, s.Ready.Console.Token, http.MethodPost, fmt.Sprintf("%s/api/questions/%s", s.Ready.Console.URL, id), fmt.Sprintf(`{"ok":%t}`, ok))
	}
	bought, unknown := 0, 0
	for i := range *purchases {
		q, token := post(suite.PersonToken, buys("p", "")).Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
		if q["kind"] != "confirm" || !strings.Contains(q["detail"].(string), "Sencha") || q["tool"] != "buyProduct" {
			t.Fatalf("question %v", q)
		}
		resume := fmt.Sprintf(`{"resume":%q,"wait":20000}`, token)
		switch i % 6 {
		case 0: // the caller's own answer
			resume = fmt.Sprintf(`{"resume":%q,"wait":20000,"answer":{"question":%q,"ok":true}}`, token, q["id"])
		case 1, 2: // an operator's, while the client may wait already
			later := make(chan suite.Reply, 1)
			go func() { later <- post(suite.PersonToken, buys("p", resume)) }()
			<-time.After(rand.N(5 * time.Millisecond)) // any moment will do
			answer(q["id"], i%6 == 1)
			r := <-later
			if r.Status == http.StatusOK {
				bought++
			} else if f := r.Failed(t); f.Code != "TOOL_ERROR" && f.Code != "RESUME_NOT_FOUND" {
				t.Fatalf("got %s", r.Body)
			}
			continue
		case 3: // two answers at once
			go answer(q["id"], true)
			answer(q["id"], false)
		case 4: // never, or late
		case 5: // the client goes away while it waits, and comes back
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond+rand.N(5*time.Millisecond))
			s.In(ctx, suite.PersonToken, http.MethodPost, s.URL+"/webtools/shop", buys("p", resume))
			cancel()
			answer(q["id"], true)
		}
		switch r := post(suite.PersonToken, buys("p", resume)); {
		case r.Status == http.StatusOK:
			bought++
		case i%6 == 5 && (r.Failed(t).Code == "CANCELLED" || r.Failed(t).Code == "RESUME_NOT_FOUND"):
			// It went away a moment too late: when the page ran, or when the server wrote the
			// outcome, which can be before the server sees that the connection has ended.
			unknown++
		case r.Failed(t).Code != "TOOL_ERROR" || !strings.Contains(r.Failed(t).Message, "cancelled by user"):
			t.Fatalf("purchase %d got %d %s", i, r.Status, r.Body)
		}
		if f := post(suite.PersonToken, buys("p", resume)).Failed(t); f.Code != "RESUME_NOT_FOUND" {
			t.Fatalf("a spent token: %+v", f)
		}
	}
	if got := orders(t, s, suite.PersonToken, "p"); got < bought || got > bought+unknown || bought == 0 {
		t.Errorf("the page sold %d, callers were told of %d, and do not know of %d", got, bought, unknown)
	}
}

// approver runs approve over the sockets of a data folder, with its operators' credential
// where there is one. It returns what was printed, when it ended with the code.
func approver(t *testing.T, data string) func(code int, args ...string) string {
	t.Helper()
	return func(code int, args ...string) string {
		t.Helper()
		cmd := exec.Command(suite.Pagetools(t), append([]string{"approve", "--data-dir", data}, args...)...)
		token, _ := os.ReadFile(filepath.Join(data, "console.token"))
		cmd.Env = append(os.Environ(), "PAGETOOLS_CONSOLE_TOKEN="+string(token))
		out, _ := cmd.CombinedOutput() // the code says how it ended
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("approve %v ended with %d: %s", args, got, out)
		}
		return string(out)
	}
}

// TestApprove answers from another terminal, over the socket that only the user
// can open. An agent's credential answers nothing.
func TestApprove(t *testing.T) {
	t.Parallel()
	s := shop(t, "1m", "--console-listen", "127.0.0.1:0")
	data := s.Tmp + "-data"
	for _, secret := range []string{"run/*.sock", "console.token"} {
		found, _ := filepath.Glob(filepath.Join(data, secret))
		if len(found) != 1 {
			t.Fatalf("of %s there are %q", secret, found)
		}
		if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v", secret, info, err)
		}
	}
	approve := approver(t, data)
	if got := approve(0); !strings.Contains(got, "no call waits") {
		t.Errorf("an empty list is %q", got)
	}
	post := func(body string) suite.Reply {
		return s.As(t, suite.AgentToken, http.MethodPost, s.URL+"/webtools/strict", body)
	}
	q, token := post(buys("a", "")).Waiting(t, http.StatusForbidden, "APPROVAL_REQUIRED")
	id := q["id"].(string)
	if f := post(buys("a", fmt.Sprintf(`{"resume":%q,"answer":{"question":%q,"ok":true}}`, token, id))).Failed(t); f.Code != "FORBIDDEN" {
		t.Errorf("the agent answered itself: %+v", f)
	}
	if r := s.As(t, suite.AgentToken, http.MethodGet, s.Ready.Console.URL+"/api/questions", ""); r.Failed(t).Code != "FORBIDDEN" {
		t.Errorf("the agent sees %s", r.Body)
	}
	if list := approve(0); !strings.Contains(list, id) || !strings.Contains(list, "approve") || !strings.Contains(list, "sencha") || !strings.Contains(list, "agent") {
		t.Errorf("the list is %s", list)
	}
	approve(3, id) // there is no terminal
	approve(2, id, "--yes", "--no")
	approve(2, "NOSUCHQUESTION", "--yes")
	approve(2, id[:2], "--yes") // it names nothing
	approve(0, strings.ToLower(id[:6]), "--yes")
	approve(5, id, "--no") // somebody was first
	q, _ = post(buys("a", fmt.Sprintf(`{"resume":%q,"wait":20000}`, token))).Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	approve(0, q["id"].(string), "--no")
	if f := post(buys("a", fmt.Sprintf(`{"resume":%q,"wait":20000}`, token))).Failed(t); f.Code != "TOOL_ERROR" || f.Outcome != "failed" {
		t.Errorf("declined: %+v", f)
	}
	inShop := func() suite.Reply {
		return s.As(t, suite.AgentToken, http.MethodPost, s.URL+"/webtools/shop", buys("b", ""))
	}
	inShop().Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	if f := inShop().Failed(t); f.Code != "CONFLICT" || f.Outcome != "not_run" || f.Details["question"] == nil {
		t.Errorf("another call of a session that waits: %+v", f)
	}
	cmd := exec.Command(suite.Pagetools(t), "approve", "--data-dir", data+"-none")
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("without a server: %v", err)
	}
}

// TestAgent runs the agent of the examples: it waits for a person twice, and buys once.
func TestAgent(t *testing.T) {
	t.Parallel()
	s := shop(t, "1m", "--console-listen", "127.0.0.1:0")
	agent := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command("go", "build", "-o", agent, filepath.Join(docs.Root(t), "examples", "agent-http")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command(agent, append([]string{"-token", suite.AgentToken}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(s.URL + "/webtools/strict"); err != nil || !strings.Contains(out, "buyProduct: ") {
		t.Errorf("the list: %v: %s", err, out)
	}
	if out, err := run(s.URL+"/webtools/strict", "none"); err == nil || !strings.Contains(out, "WEBTOOL_NOT_FOUND (not_run)") {
		t.Errorf("a tool that there is not: %v: %s", err, out)
	}
	type ended struct {
		out string
		err error
	}
	bought := make(chan ended, 1)
	go func() {
		out, err := run(s.URL+"/webtools/strict", "buyProduct", `{"product_id":"sencha"}`)
		bought <- ended{out, err}
	}()
	console := func(method, path, body string) suite.Reply {
		return s.As(t, s.Ready.Console.Token, method, s.Ready.Console.URL+path, body)
	}
	for _, kind := range []string{"approve", "confirm"} {
		var id string
		suite.Eventually(t, suite.ReplyWithin, "the question "+kind, func() bool {
			var list struct {
				Questions []struct{ ID, Kind string }
			}
			if err := json.Unmarshal(console(http.MethodGet, "/api/questions", "").Body, &list); err != nil {
				return false
			}
			for _, q := range list.Questions {
				if q.Kind == kind {
					id = q.ID
				}
			}
			return id != ""
		})
		console(http.MethodPost, "/api/questions/"+id, `{"ok":true}`)
	}
	got := <-bought
	if got.err != nil || strings.Count(got.out, "A person must answer") != 2 || !strings.Contains(got.out, "Buy Sencha") || !strings.HasSuffix(got.out, "\"Product sencha purchased.\"\n") {
		t.Errorf("it ended with %v: %s", got.err, got.out)
	}
}

// TestPictureOfPage looks at a form that waits for a person, and submits it.
func TestPictureOfPage(t *testing.T) {
	t.Parallel()
	s := suite.Serve(t, "forms="+suite.PageServer().Page("forms.html"), "--approval", "auto", "--warm", "0")
	data, path := s.Tmp+"-data", filepath.Join(t.TempDir(), "form.png")
	approve := approver(t, data)
	call := func(config string) suite.Reply {
		return s.Ask("/webtools/forms", `{"sessionId":"p","action":"buy","request":{"count":2},"config":`+config+`}`)
	}
	q, token := call(`{}`).Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	id, _ := q["id"].(string)
	approve(2, "--picture", path)
	approve(2, id, "--picture", path, "--yes")
	approve(2, "NOSUCHQUESTION", "--picture", path)
	approve(0, id, "--picture", path)
	if png, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(png, []byte("\x89PNG\r\n")) || len(png) < 1000 {
		t.Errorf("the picture has %d bytes, %v", len(png), err)
	}
	approve(0, id, "--yes")
	if r := call(fmt.Sprintf(`{"resume":%q,"wait":20000}`, token)); r.Err != nil || r.Status == http.StatusConflict {
		t.Errorf("after its answer: %d %s, %v", r.Status, r.Body, r.Err)
	}
}
