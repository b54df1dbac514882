package serve_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/store/postgres/postgrestest"
	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// telling are words that callers, pages and people say, and which no engine may keep readable.
var telling = []string{"caller-of-the-tests", "argument-of-the-tests", "result-of-the-tests", "session-of-the-tests", "key-of-the-tests",
	"question-of-the-tests", suite.AgentToken, "desk", "words-of-a-description"}

// vaulted has a tool that asks a person, one that the operator has asked about, and one that changes the
// page's list.
const vaulted = `let n = 0
const add = (name, execute) => document.modelContext.registerTool({name, description: 'Does words-of-a-description.', execute});
add('inc', () => ++n);
add('more', () => { add('rest', () => 'rest'); return 'added'; });
add('pay', ({to}) => 'result-of-the-tests ' + to + ' ' + ++n);
add('ask', () => confirm('question-of-the-tests?') ? 'yes' : 'no');`

// TestVaultOfNodes: consent, versions and results under a key are one for all nodes, and outlive them, in
// NATS and in PostgreSQL. Neither keeps anything readable. While PostgreSQL is away, at the start or later,
// it is as the document says.
func TestVaultOfNodes(t *testing.T) {
	t.Parallel()
	t.Run("nats", func(t *testing.T) {
		t.Parallel()
		c := newNodes(t)
		desk, shop := pageOfVault(t)
		one, two := c.start(t, "a", vaultConfig(desk, shop), suite.Start), c.start(t, "b", vaultConfig(desk, shop), suite.Start)
		vaultOfNodes(t, c, one, two, vaultConfig(desk, shop))
		nothingTelling(t, bucketsOf(t, c), "m.VAULT")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := postgrestest.Start(t)
		gate := server.Gate()
		c := newNodes(t)
		address := documented(t, server, gate)
		c.args = []string{"--cluster-memory", address}
		desk, shop := pageOfVault(t)
		server.Kill()
		one := c.start(t, "a", vaultConfig(desk, shop), func(path, dir, tmp string, args ...string) (*suite.Server, error) {
			return startsLater(t, server.Restart, path, dir, tmp, args...)
		})
		two := c.start(t, "b", vaultConfig(desk, shop), suite.Start)
		three := vaultOfNodes(t, c, one, two, vaultConfig(desk, shop))
		withoutVault(t, c, three, address, gate.Silence)
		text := server.QueryIn("documented", `SELECT key || ' ' || encode(value, 'escape') FROM pagetools_records`)
		nothingTelling(t, text, "m.VAULT")
		nothingTelling(t, bucketsOf(t, c), "m.VAULT")
		for _, n := range []*node{one, two, three} {
			if strings.Contains(n.Stderr.String(), postgrestest.Password) {
				t.Errorf("the log has the password:\n%s", n.Stderr)
			}
		}
	})
}

// documented makes the role and the database as the document says, under another name, and returns their
// address through the gate.
func documented(t *testing.T, server *postgrestest.Server, gate *postgrestest.Gate) string {
	t.Helper()
	n := 0
	for _, b := range blocksOf(docs.Documents(t)["docs/operate.md"]) {
		if b.lang != "sql" {
			continue
		}
		for line := range strings.Lines(strings.NewReplacer("pagetools", "documented", "'PASSWORD'", "'"+postgrestest.Password+"'").Replace(b.text)) {
			server.Query(line)
			n++
		}
	}
	if n == 0 {
		t.Fatal("docs/operate.md does not say how a database is made")
	}
	return strings.NewReplacer("pagetools:", "documented:", "/postgres?", "/documented?").Replace(gate.Address())
}

func pageOfVault(t *testing.T) (desk, shop string) {
	t.Helper()
	desk, _ = pageOf(t, vaulted)
	shop, _ = pageOf(t, vaulted)
	return desk, shop
}

func vaultConfig(desk, shop string) string {
	return fmt.Sprintf("callers:\n  - {name: caller-of-the-tests, token: %s, may: [call, elicit]}\nsites:\n  - {name: desk, target: '%s', state: shared}\n"+
		"  - {name: shop, target: '%s', approval: {default: auto, tools: {pay: ask-once}}}\n", suite.AgentToken, desk, shop)
}

// document returns what a node has under a path of a site: the version and the names of its tools.
func (n *node) document(t *testing.T, path string) (version, tools string) {
	t.Helper()
	var d struct {
		Version string
		Actions []struct{ Name string }
	}
	r := n.As(t, suite.AgentToken, http.MethodGet, n.URL+"/webtools/"+path, "")
	if err := json.Unmarshal(r.Body, &d); err != nil || r.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, r.Status, r.Body)
	}
	for _, a := range d.Actions {
		tools += a.Name + " "
	}
	return d.Version, tools
}

const payment = `{"action":"pay","sessionId":"session-of-the-tests","request":{"to":"argument-of-the-tests"}}`

// keyed calls with a key.
func (n *node) keyed(t *testing.T, key, body string) suite.Reply {
	t.Helper()
	return n.In(t.Context(), suite.AgentToken, http.MethodPost, n.URL+"/webtools/shop", body, "Idempotency-Key", key)
}

// pays calls without a key.
func (n *node) pays(t *testing.T) suite.Reply {
	t.Helper()
	return n.In(t.Context(), suite.AgentToken, http.MethodPost, n.URL+"/webtools/shop", payment)
}

// vaultOfNodes asks for each thing through the other node, and through a third one when the first has ended.
func vaultOfNodes(t *testing.T, c *nodes, one, two *node, config string) (three *node) {
	t.Helper()
	before, tools := one.document(t, "desk")
	if version, others := two.document(t, "desk"); version != before || others != tools {
		t.Errorf("the other node has version %s of %s, not %s of %s", version, others, before, tools)
	}
	suite.AsksFor(t, two.Server, suite.AgentToken, "desk", "", "more", "{}").OK(t)
	two.lists(t, "after a change", "desk", "ask", "inc", "more", "pay", "rest")
	one.lists(t, "after a change", "desk", "ask", "inc", "more", "pay", "rest")
	after, _ := one.document(t, "desk")
	if version, _ := two.document(t, "desk"); version != after || after == before {
		t.Errorf("after a change the nodes have %s and %s, after %s", after, version, before)
	}

	question, _ := suite.AsksFor(t, one.Server, suite.AgentToken, "shop", "", "ask", "{}").Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	answers(t, two.Server, question)
	question, _ = one.pays(t).Waiting(t, http.StatusForbidden, "APPROVAL_REQUIRED")
	page := two.Ready.Console
	if r := two.In(t.Context(), page.Token, http.MethodPost, page.URL+"/api/questions/"+fmt.Sprint(question["id"]), `{"ok":true,"always":true}`, "Origin", page.URL); r.Status >= 300 {
		t.Fatalf("the answer: %d %s", r.Status, r.Body)
	}
	// Where nobody has been told yet of what was said a second ago, a person is asked.
	if !suite.Within(suite.ReplyWithin, func() bool { return two.pays(t).Status == http.StatusOK }) {
		t.Error("consent for always does not count at the other node")
	}
	if r := one.pays(t); r.Status != http.StatusOK {
		t.Errorf("consent for always, where the question was: %d %s", r.Status, r.Body)
	}
	kept := one.keyed(t, "key-of-the-tests", payment)
	same := func(why string, n *node) {
		t.Helper()
		if r := n.keyed(t, "key-of-the-tests", payment); r.Status != http.StatusOK || string(r.Body) != string(kept.Body) || !strings.Contains(string(r.Body), "result-of-the-tests") {
			t.Errorf("%s: %d %s, not %s", why, r.Status, r.Body, kept.Body)
		}
	}
	same("a key, at the other node", two)

	_ = one.Cmd.Process.Kill()
	<-one.Ended
	three = c.start(t, "c", config, suite.Start)
	if _, old := three.document(t, "desk/"+before); old != tools {
		t.Errorf("a node that came later has %q in version %s, not %q", old, before, tools)
	}
	same("a key, at a node that came later", three)
	if r := three.pays(t); r.Status != http.StatusGone {
		t.Errorf("the session of the node that was killed: %d %s", r.Status, r.Body)
	}
	if r := three.pays(t); r.Status != http.StatusOK {
		t.Errorf("consent, at a node that came later: %d %s", r.Status, r.Body)
	}
	return three
}

// withoutVault: while PostgreSQL says nothing, calls with a key are refused, a person is asked again, and
// the rest goes on. cluster status and doctor say so, without its address.
func withoutVault(t *testing.T, c *nodes, n *node, address string, silence func() (mend func())) {
	t.Helper()
	_, host, _ := strings.Cut(address, "@")
	host, _, _ = strings.Cut(host, "/")
	run := func(code int, says string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), suite.Pagetools(t), args...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), says) {
			t.Errorf("%s: exit %d, without %q\n%s", args[:2], cmd.ProcessState.ExitCode(), says, out)
		}
		if strings.Contains(string(out), postgrestest.Password) || strings.Contains(string(out), host) {
			t.Errorf("%s shows the address of the database:\n%s", args[:2], out)
		}
	}
	// One node has ended, so that the status is not good in any case.
	engine := []string{"--cluster", c.engine.URLs()[0], "--cluster-key-file", c.secret}
	run(1, "postgres, takes writes", "cluster", "status", "--data-dir", n.data)
	run(1, "postgres, takes writes", append([]string{"cluster", "status", "--cluster-memory", address}, engine...)...)
	run(1, "which was not looked at", append([]string{"cluster", "status"}, engine...)...)
	run(0, "postgres takes writes", append([]string{"doctor", "--cluster-memory", address}, engine...)...)
	run(2, "other nodes of the cluster keep consent", "serve", suite.OwnBrowser, "--config", n.config, "--data-dir", filepath.Join(c.folder, "d"), engine[0], engine[1], engine[2], engine[3],
		"--node", "d", "--peer-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--console-listen", "off")
	run(2, "must be nats, or the address", append([]string{"cluster", "status", "--cluster-memory", strings.Replace(address, "postgres:", "mysql:", 1)}, engine...)...)

	mend := silence()
	refused := func(why, key string) {
		t.Helper()
		r := n.keyed(t, key, `{"action":"inc","request":{}}`)
		if e := r.Failed(t); r.Status != http.StatusServiceUnavailable || e.Reason != "NO_QUORUM" || e.Outcome != "not_run" || r.Header.Get("Retry-After") != "2" {
			t.Errorf("%s: %d %s", why, r.Status, r.Body)
		}
	}
	refused("a new key", "another-key")
	refused("a key of before", "key-of-the-tests")
	if got := suite.AsksFor(t, n.Server, suite.AgentToken, "shop", "", "inc", "{}").OK(t); got != 1. {
		t.Errorf("without a key: %v", got)
	}
	if _, tools := n.document(t, "shop"); !strings.Contains(tools, "inc") {
		t.Errorf("the document has %s", tools)
	}
	if !suite.Within(suite.ReplyWithin, func() bool { return n.pays(t).Status == http.StatusForbidden }) {
		t.Error("nobody is asked again")
	}
	run(1, "postgres, TAKES NO WRITES", "cluster", "status", "--data-dir", n.data)
	run(1, "the vault takes no writes", append([]string{"cluster", "status", "--cluster-memory", address}, engine...)...)
	run(4, "vault", append([]string{"doctor", "--cluster-memory", address}, engine...)...)
	if r := n.As(t, suite.AgentToken, http.MethodGet, n.URL+"/metrics", ""); strings.Contains(string(r.Body), postgrestest.Password) ||
		!regexp.MustCompile(`pagetools_cluster_records_errors_total\{op="get"\} [1-9]`).Match(r.Body) {
		t.Error("/metrics shows the password, or does not count what PostgreSQL did not answer")
	}
	mend()
	if !suite.Within(suite.ReplyWithin, func() bool { return n.keyed(t, "key-of-the-tests", payment).Status == http.StatusOK }) {
		t.Error("a key of before is not there again")
	}
}

// bucketsOf returns all that the engine keeps, with its keys.
func bucketsOf(t *testing.T, c *nodes) string {
	t.Helper()
	conn, err := nats.Connect(c.engine.URLs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := conn.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for name := range js.StreamNames() {
		info, err := js.StreamInfo(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := info.State.FirstSeq; at <= info.State.LastSeq; at++ {
			if m, err := js.GetMsg(name, at); err == nil {
				fmt.Fprintf(&all, "%s %s\n", m.Subject, m.Data)
			}
		}
	}
	return all.String()
}

// nothingTelling checks that text of an engine has none of the telling words, and no more of them, and has what must be
// there.
func nothingTelling(t *testing.T, text, control string, more ...string) {
	t.Helper()
	if !strings.Contains(text, control) {
		t.Errorf("the control %s is not in %d bytes", control, len(text))
	}
	if words := readable(text, more...); len(words) > 0 {
		t.Errorf("the engine can read %q", words)
	}
}

// readable returns the telling words, and more, in a text, also in base64.
func readable(text string, more ...string) (words []string) {
	whole := text
	for _, word := range regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}=*`).FindAllString(text, -1) {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if plain, err := encoding.DecodeString(word); err == nil {
				whole += "\n" + string(plain)
			}
		}
	}
	for _, word := range slices.Concat(telling, more) {
		if strings.Contains(whole, word) {
			words = append(words, word)
		}
	}
	return words
}

// TestReadable: what an engine keeps as it is, or in base64, is found.
func TestReadable(t *testing.T) {
	t.Parallel()
	for _, word := range telling {
		box := `{"v":1,"box":"` + base64.StdEncoding.EncodeToString([]byte(`{"once":"A"} says `+word+`!`)) + `"}`
		if plain, hidden := readable("m.A "+word+"\n"), readable(box); len(plain) == 0 || len(hidden) == 0 {
			t.Errorf("%s is found as %q, and as %q", word, plain, hidden)
		}
	}
	if words := readable("a token", "token"); len(words) != 1 {
		t.Errorf("one more word is found as %q", words)
	}
	if words := readable(`{"v":1,"box":"` + base64.StdEncoding.EncodeToString([]byte("nothing of that")) + `"}`); words != nil {
		t.Errorf("%q are found in what has none", words)
	}
}

// TestMarksOfNodes: each node gives the others the checkpoints of its audit to keep. A folder that was put back
// as it was shows at audit verify --cluster, and not in the folder; a whole one does not.
func TestMarksOfNodes(t *testing.T) {
	t.Parallel()
	c := newNodes(t)
	desk, shop := pageOfVault(t)
	config := vaultConfig(desk, shop)
	one, two := c.start(t, "a", config, suite.Start), c.start(t, "b", config, suite.Start)
	calls := func(n *node) {
		t.Helper()
		suite.AsksFor(t, n.Server, suite.AgentToken, "shop", "", "inc", "{}").OK(t)
	}
	verify := func(code int, says string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), suite.Pagetools(t), append([]string{"audit", "verify"}, args...)...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), says) {
			t.Errorf("audit verify %s: exit %d, without %q\n%s", args, cmd.ProcessState.ExitCode(), says, out)
		}
	}
	calls(one)
	stop := func(n *node) {
		t.Helper()
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	}
	stop(one)
	before := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(before, os.DirFS(one.data)); err != nil {
		t.Fatal(err)
	}
	one = c.start(t, "a", config, suite.Start)
	for range 3 {
		calls(one)
	}
	calls(two)
	from := []string{"--cluster=" + c.engine.URLs()[0], "--cluster-key-file", c.secret}
	verify(0, "a:\n", "--cluster", "--data-dir", two.data)
	verify(0, "b:\n", from...)
	if gatetest.IsNightly() && !suite.Within(90*time.Second, func() bool { return strings.Contains(bucketsOf(t, c), "$KV.PT_KEEP.m.b ") }) {
		t.Error("a node that lives keeps no marks")
	}
	stop(one)
	verify(4, "the node a does not answer: its audit was not verified", from...)

	if err := os.RemoveAll(one.data); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(one.data, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	verify(0, "records are as they were written", "--data-dir", one.data) // the control: the folder does not show it
	one = c.start(t, "a", config, suite.Start)
	calls(one)
	verify(1, "pagetools: a: record 6 of the audit is missing", "--cluster", "--data-dir", two.data)
	verify(1, "pagetools: a: record 6 of the audit is missing", from...)
	verify(0, "records are as they were written", "--data-dir", two.data)
	stop(one) // what it keeps now does not hide it
	c.start(t, "a", config, suite.Start)
	verify(1, "pagetools: a: record 6 of the audit is missing", from...)
}
