package serve_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// block is one fenced block of a document.
type block struct {
	lang, info string // the first word after the fence, and the rest
	text       string
}

var fenced = regexp.MustCompile("(?ms)^([ \t]*)```([^\n]*)\n(.*?)^[ \t]*```[ \t]*$")

// blocksOf returns the fenced blocks of a text, in their order.
func blocksOf(text string) (all []block) {
	for _, match := range fenced.FindAllStringSubmatch(text, -1) {
		lang, info, _ := strings.Cut(strings.TrimSpace(match[2]), " ")
		var lines strings.Builder
		for line := range strings.Lines(match[3]) {
			lines.WriteString(strings.TrimPrefix(line, match[1]))
		}
		all = append(all, block{lang, info, lines.String()})
	}
	return all
}

// expected returns patterns of the output that a document shows: an ellipsis stands for
// anything.
func expected(text string) (lines []*regexp.Regexp) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line == "…" {
			continue
		}
		lines = append(lines, regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")))
	}
	return lines
}

// notRunHere are command lines of documents that TestBlocks cannot run, with the reason.
var notRunHere = map[string]string{
	"npm install": "npm's packages are not here; make clients runs these agents with them",
	"bin/pagetools tools https://api.shop.example/openapi.json":                                      "it needs an API; TestScripts has one",
	"bin/pagetools serve shop=https://shop.example/ --opentools only":                                "the same",
	"bin/pagetools auth login http://127.0.0.1:8001/":                                                "it waits for a person; TestScripts has one",
	"bin/pagetools call http://127.0.0.1:8001/openapi.json search-recipes query=eggs cuisine=french": "it needs the login",
	"bin/pagetools auth login https://shop.example/":                                                 "it waits for a person; TestAuth is one",
	"node agent-sdk.mjs http://127.0.0.1:7300/mcp/today":                                             "the same",
	"node agent-aisdk.mjs http://127.0.0.1:7300/mcp/today?session=model":                             "the same",
	"node agent-url.mjs http://127.0.0.1:8001/":                                                      "the same",
	`node agent-url.mjs http://127.0.0.1:8001/ search-recipes '{"query":"eggs"}'`:                    "the same",
	`node agent-url.mjs http://127.0.0.1:8001/ plan-week '{"days":2}'`:                               "the same",
	"bin/pagetools login https://shop.example/ --save-storage-state work.json":                       "it opens a window for a person",
	"cloudflared tunnel --url http://127.0.0.1:7300":                                                 "there is no tunnel here",
	"bin/pagetools serve --config pagetools.yaml --cluster nats://10.0.0.5:4222 --cluster-key-file cluster.key --node a --listen 0.0.0.0:7300 --peer-listen 10.0.0.11:7302":                                      "there is no NATS at that address; TestTwoNodes has one",
	"bin/pagetools serve --config pagetools.yaml --cluster-embed --cluster-peers a=10.0.0.11,b=10.0.0.12,c=10.0.0.13 --cluster-key-file cluster.key --node a --listen 0.0.0.0:7300 --peer-listen 10.0.0.11:7302": "this machine has no such address; TestNodesWithEngines has three nodes",
	"nats-server -a 127.0.0.1 -js -sd nats-data":                                         "it goes on until somebody ends it; TestTwoNodes has one",
	"python3 -m http.server 8000 --bind 127.0.0.1 --directory examples/stampdb":          "the same",
	"examples/cluster/node.sh a":                                                         "it needs NATS; TestTwoNodes has one",
	"examples/cluster/node.sh b":                                                         "the same",
	"examples/cluster/node.sh c":                                                         "the same",
	"nginx -p . -c examples/cluster/nginx.conf":                                          "there is no nginx here",
	"bin/pagetools cluster status --config examples/cluster/pagetools.yaml":              "there is no cluster at its end; TestTwoNodes has one",
	"bin/pagetools cluster drain a --wait --config examples/cluster/pagetools.yaml":      "the same",
	"bin/pagetools egress --egress-listen 127.0.0.1:7305 --cluster-key-file cluster.key": "it goes on until somebody ends it; TestEgressElsewhere has one",
	"bin/pagetools doctor --config browsers.yaml":                                        "there are no browsers at these addresses; TestBrowsersElsewhere has some",
	`curl -s http://127.0.0.1:8080/webtools/stamps -H 'Authorization: Bearer replace-this-text-of-the-agent' -H 'Content-Type: application/json' -d '{"sessionId":"me","action":"list-stamps","request":{}}'`: "the same",
	"bin/pagetools cluster status":         "there is no cluster at its end; TestTwoNodes has one",
	"bin/pagetools audit verify --cluster": "there is no cluster at its end; TestMarksOfNodes has one",
	"bin/pagetools log --cluster":          "there is no cluster at its end; TestOneCatalog has one",
	"bin/pagetools cluster drain a --wait": "there is no cluster at its end; TestDrainedNode has one",
	"bin/pagetools pair --revoke ID":       "no client was let in; TestSignIn has one",
}

// notRunKinds are kinds of blocks that no program here reads, with the reason.
var notRunKinds = map[string]string{"nginx": "there is no nginx here", "sql": "TestVaultOfNodes runs it"}

// runnable returns the commands of a block that can be run here, and what it left out.
func runnable(text string) (commands string, left []string) {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		command := strings.TrimSpace(line)
		if _, out := notRunHere[command]; out {
			left = append(left, command)
			continue
		}
		kept.WriteString(line)
	}
	return kept.String(), left
}

// TestNotRunHere: each command that no test runs is one that a document has.
func TestNotRunHere(t *testing.T) {
	t.Parallel()
	var seen []string
	all := docs.Documents(t)
	for _, doc := range docs.UserPages(t) {
		for _, b := range blocksOf(all[doc]) {
			_, left := runnable(b.text)
			seen = append(seen, left...)
		}
	}
	for command := range notRunHere {
		if !slices.Contains(seen, command) {
			t.Errorf("no document has %q", command)
		}
	}
}
