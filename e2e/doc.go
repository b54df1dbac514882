// Package e2e tests the tools that a web app declares through WebMCP, in plain go test:
//
//	func TestStamps(t *testing.T) {
//		app := e2e.Start(t, e2e.Options{Dir: "testdata/site"})
//		page := app.Open(t, "/stamps.html")
//		page.Human(e2e.Accept("Buy product 42?"))
//		got := page.Call(t, "buyProduct", map[string]any{"product_id": "42"})
//		got.Match(t, `{"content": [{"text": {"$contains": "purchased"}}]}`)
//	}
//
//	func TestScenarios(t *testing.T) { e2e.Run(t, "testdata/*.webtool.yaml") }
//
//	func TestMain(m *testing.M) { e2e.Main(m) }
//
// [Start] serves a folder, or takes a running app, and starts a browser; tests with the same
// [Options] share both. Each [Page] has a browser context of its own, so tests can run in parallel.
// A call goes the way of an agent's: its arguments are checked against the tool's schema, and the
// person is asked who must be. [Page.Human] holds the answers; a question without an answer
// and an answer that nobody asked for fail the test. [Page.Check] holds the declarations against
// the rules of package check, and [Page.MatchLock] against a file. [Run] runs scenario files.
//
// Expected values are written as in scenario files: an object matches when it has the expected
// members, an array by position and length, and members such as $contains, $pattern, $gte, $type
// and $any stand for values. ${env.NAME} and ${unique} are references, and $${ is the text ${.
//
// The tests need Chrome or Chromium, no flag of it, and no other program. Where no browser is found
// they are skipped, and fail when the variable CI is set. The environment says which browser it is:
// PAGETOOLS_EXECUTABLE_PATH names one, PAGETOOLS_HEADLESS=false shows it, and
// PAGETOOLS_NO_SANDBOX=1 starts it as root, such as in a container; set that only for pages that
// you trust.
//
// Functions that take tb end the test with Fatal where nothing can follow, and use Error where
// something can. Those that take none belong to the test that opened the page.
package e2e
