package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/e2e/suite"
)

// purchase holds a person's answers to the questions of one purchase, in their order.
// Each question waits for an answer of its own: "accept", "decline", "cancel", which
// leaves it open, or "late", which comes after the question's time.
type purchase struct {
	answers []string
	bought  bool
}

// late reports whether an answer comes too late. Then the time of a question is short,
// and an answer before may come too late as well: nothing is bought either way.
func (p purchase) late() bool { return slices.Contains(p.answers, "late") }

var purchasePlans = []purchase{
	{[]string{"accept", "accept"}, true},
	{[]string{"accept", "decline"}, false},
	{[]string{"late"}, false},
	{[]string{"decline"}, false},
	{[]string{"cancel", "accept", "cancel", "accept"}, true},
	{[]string{"accept", "late"}, false},
}

// questionTime says how long a question of a plan with a late answer is open, and lateBy
// how much later that comes. The questions of others are open as long as it takes.
const questionTime, lateBy = 4 * time.Second, 2 * time.Second

// buyer is a client whose person answers by a plan.
type buyer struct {
	suite.MCPAgent

	name string
	site *clientSite
	desk *desk // answers when the client cannot ask

	mu    sync.Mutex
	plan  []string
	asked []string
}

// Elicit implements client.ElicitationHandler.
func (b *buyer) Elicit(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	b.mu.Lock()
	answer := "decline"
	if len(b.plan) > 0 {
		answer, b.plan = b.plan[0], b.plan[1:]
	}
	b.asked = append(b.asked, r.Params.Message)
	b.mu.Unlock()
	result := &mcp.ElicitationResult{}
	switch answer {
	case "late":
		select {
		case <-time.After(questionTime + lateBy): // the question ends before
		case <-ctx.Done():
		}
		result.Action, result.Content = mcp.ElicitationResponseActionAccept, map[string]any{}
	case "accept":
		result.Action, result.Content = mcp.ElicitationResponseActionAccept, map[string]any{}
	case "cancel":
		result.Action = mcp.ElicitationResponseActionCancel
	default:
		result.Action = mcp.ElicitationResponseActionDecline
	}
	return result, nil
}

// canElicit reports whether the protocol version has elicitation.
func (b *buyer) canElicit() bool { return b.Version >= "2025-06-18" }

// buy makes one purchase by a plan, and checks the outcome.
func (b *buyer) buy(ctx context.Context, p purchase) error {
	id := b.name + "-" + b.Version
	b.mu.Lock()
	b.plan, b.asked = p.answers, nil
	b.mu.Unlock()
	var got struct {
		Bought bool
		Runs   int
	}
	elsewhere := p.answers
	var err error
	for range 2 * len(p.answers) {
		if err = b.Run(ctx, "buy", map[string]string{"id": id}, "", &got); !waitsForAPerson(err) {
			break
		}
		if !b.canElicit() && len(elsewhere) > 0 {
			if err = b.desk.answer(ctx, id, elsewhere[0]); err != nil {
				break
			}
			elsewhere = elsewhere[1:]
		}
	}
	runs := ""
	if err == nil {
		runs, err = b.site.tell(ctx, "/counted", id)
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", id, p.answers, err)
	}
	if got.Bought != p.bought || got.Runs != 1 || runs != "1" {
		return fmt.Errorf("%s, %s: bought %t, in run %d of %s; asked %q", id, p.answers, got.Bought, got.Runs, runs, b.asked)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.canElicit() && !p.late() && (len(b.plan) > 0 || len(b.asked) != len(p.answers)) {
		return fmt.Errorf("%s, %s: it was asked %q", id, p.answers, b.asked)
	}
	return nil
}

// desk answers questions, as operators do, over the socket of a data folder.
type desk struct{ http.Client }

func deskOf(data string) *desk {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		sockets, err := filepath.Glob(filepath.Join(data, "run", "*.sock"))
		if err != nil || len(sockets) != 1 {
			return nil, fmt.Errorf("there are the sockets %q: %w", sockets, err)
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", sockets[0])
	}
	return &desk{http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

func (o *desk) do(ctx context.Context, method, path, body string, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://operators"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := o.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s gives %s", method, path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// question returns the id of the open question of a purchase, or "".
func (o *desk) question(ctx context.Context, purchase string) (string, error) {
	var open struct {
		Questions []struct{ ID, Detail string }
	}
	err := o.do(ctx, http.MethodGet, "/api/questions", "", &open)
	for _, q := range open.Questions {
		if strings.Contains(q.Detail, purchase+"?") {
			return q.ID, err
		}
	}
	return "", err
}

// answer does to the open question of a purchase what a plan says.
func (o *desk) answer(ctx context.Context, purchase, answer string) (err error) {
	if answer == "cancel" {
		return nil
	}
	q := ""
	found := suite.Within(suite.ReplyWithin, func() bool {
		q, err = o.question(ctx, purchase)
		return err != nil || (q == "") == (answer == "late") // late: it is not there any more
	})
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%s: the question is %q", answer, q)
	case answer == "late":
		return nil
	}
	return o.do(ctx, http.MethodPost, "/api/questions/"+q, fmt.Sprintf(`{"ok":%t}`, answer == "accept"), &struct{}{})
}

// purchasesConfig has the callers c0 to c5. late is for plans with a late answer.
func purchasesConfig(t *testing.T, site *clientSite, late bool) (path string, token func(caller int) string) {
	t.Helper()
	token = func(caller int) string { return fmt.Sprintf("token-of-the-buyer-%d", caller) }
	var text strings.Builder
	questionTime := questionTime
	if !late {
		questionTime = 10 * time.Minute
	}
	_, _ = fmt.Fprintf(&text, "sites:\n  - {name: clients, target: %q, approval: {default: auto}}\nlimits: {question: %v}\ncallers:\n", site.URL+"/clients/", questionTime)
	for i := range purchasePlans {
		_, _ = fmt.Fprintf(&text, "  - {name: c%d, token: %s, may: [call, elicit]}\n", i, token(i))
	}
	path = filepath.Join(suite.TempDir(t), "buyers.yaml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, token
}

// TestPurchasesOverMCP: a purchase that asks twice runs once in the page, for each of
// six callers at once and over both transports, whatever people say:
// yes, no, too late, or nothing until the agent asks again.
func TestPurchasesOverMCP(t *testing.T) {
	t.Parallel()
	site := newClientSite()
	t.Cleanup(site.Close)
	t.Run("HTTP", func(t *testing.T) {
		t.Parallel()
		servers, desks := map[bool]*suite.Server{}, map[bool]*desk{}
		var token func(int) string
		for _, late := range []bool{false, true} {
			var config string
			config, token = purchasesConfig(t, site, late)
			servers[late] = suite.Serve(t, "--config", config, "--warm", "0")
			desks[late] = deskOf(servers[late].Tmp + "-data")
		}
		var callers sync.WaitGroup
		for i := range purchasePlans {
			callers.Go(func() {
				for era, version := range suite.SomeVersions(2) {
					plan := purchasePlans[(i+era)%len(purchasePlans)]
					b := &buyer{MCPAgent: suite.MCPAgent{Version: version}, name: fmt.Sprintf("http-c%d", i), site: site, desk: desks[plan.late()]}
					b.Elicits = b
					err := b.OverHTTP(t.Context(), servers[plan.late()].URL+"/mcp", token(i))
					if err == nil {
						err = b.buy(t.Context(), plan)
					}
					if err != nil {
						t.Errorf("%s: %v", version, err)
					}
					_ = b.Close()
				}
			})
		}
		callers.Wait()
	})
	t.Run("stdio", func(t *testing.T) { // a process has one caller, and so a page of its own
		t.Parallel()
		configs := map[bool]string{}
		for _, late := range []bool{false, true} {
			configs[late], _ = purchasesConfig(t, site, late)
		}
		bin := suite.Pagetools(t)
		var processes sync.WaitGroup
		for _, version := range suite.SomeVersions(1) {
			tmps := map[bool]string{false: suite.TempDir(t), true: suite.TempDir(t)}
			processes.Go(func() {
				for _, late := range []bool{false, true} {
					if err := buyOverStdio(t.Context(), version, site, bin, tmps[late], late, "--config", configs[late]); err != nil {
						t.Errorf("%s: %v", version, err)
					}
				}
			})
		}
		processes.Wait()
	})
}

// buyOverStdio runs the plans with a late answer, or the others, in one process.
func buyOverStdio(ctx context.Context, version string, site *clientSite, bin, tmp string, late bool, args ...string) error {
	b := &buyer{MCPAgent: suite.MCPAgent{Version: version}, site: site, desk: deskOf(tmp + "-data")}
	b.Elicits = b
	if err := b.OverStdio(ctx, bin, tmp, args...); err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	for n, p := range purchasePlans {
		if p.late() != late {
			continue
		}
		b.name = fmt.Sprintf("stdio-%d", n)
		if err := b.buy(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
