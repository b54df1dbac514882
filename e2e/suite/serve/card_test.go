package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/session/cdp"
)

// chat is a host of MCP Apps in a browser, which shows the card of a pagetools server.
type chat struct {
	*shownPage

	t *testing.T
}

// chatHost serves a host's page.
func chatHost(t *testing.T) string {
	t.Helper()
	host := httptest.NewServer(http.FileServer(http.Dir(suite.CardFolder)))
	t.Cleanup(host.Close)
	return host.URL
}

// chatting opens a host that shows the card of a server.
func chatting(t *testing.T, e *cdp.Engine, s *suite.Server, host, more string) *chat {
	t.Helper()
	c := &chat{showInBrowser(t, e, fmt.Sprintf("%s/host.html?mcp=%s/mcp/site&sandbox=%s%s", host, s.URL, suite.CardSandbox(t), more), "#ready:not([hidden])"), t}
	if got := c.run("host.start()"); got != "open" {
		t.Fatalf("the card is %s", got)
	}
	return c
}

// run runs an expression of the host's page.
func (c *chat) run(expression string) string {
	c.t.Helper()
	got, err := cdp.Evaluate(c.t.Context(), c.Tab, expression)
	if err != nil {
		c.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

// spy asks the spy in the card.
func (c *chat) spy(op, selector string, into any) (top float64) {
	c.t.Helper()
	var got struct {
		Top   float64
		Found json.RawMessage
	}
	text := c.run(fmt.Sprintf("host.spy(%q, %q)", op, selector))
	if err := json.Unmarshal([]byte(text), &got); err != nil || into != nil && json.Unmarshal(got.Found, into) != nil {
		c.t.Fatalf("%s %s: %s", op, selector, text)
	}
	return got.Top
}

// shows is the text of the card.
func (c *chat) shows() (text string) {
	c.t.Helper()
	c.spy("text", "", &text)
	return text
}

// until waits until the card shows a text.
func (c *chat) until(want string) {
	c.t.Helper()
	suite.Eventually(c.t, suite.ReplyWithin, "the card shows "+want, func() bool { return strings.Contains(c.shows(), want) })
}

// rect says where an element of the card is, in the page of the host.
type rect struct {
	X, Y, Width, Height float64
	Text                string
}

func (c *chat) rect(selector, text string) (r rect, ok bool) {
	c.t.Helper()
	var all []rect
	top := c.spy("rects", selector, &all)
	for _, r := range all {
		if text == "" || r.Text == text {
			r.Y += top
			return r, true
		}
	}
	return r, false
}

// click clicks in the page, as a mouse does.
func (c *chat) click(x, y float64) {
	c.t.Helper()
	for _, in := range []bridge.Input{{Type: bridge.MouseMove, X: x, Y: y}, {Type: bridge.MouseDown, X: x, Y: y, Button: "left", Clicks: 1}, {Type: bridge.MouseUp, X: x, Y: y, Button: "left", Clicks: 1}} {
		if err := c.Act(c.t.Context(), in); err != nil {
			c.t.Fatal(err)
		}
	}
}

// presses clicks on a button until that counts: it does when the button was in sight for a while.
func (c *chat) presses(button, then string) {
	c.t.Helper()
	suite.Eventually(c.t, suite.ReplyWithin, then+" after "+button, func() bool {
		if r, there := c.rect("button", button); there {
			c.click(r.X+r.Width/2, r.Y+r.Height/2)
		}
		return strings.Contains(c.shows(), then)
	})
}

// outcome returns what the model's next call comes to.
func (c *chat) outcome(tool string) (text string, isError bool) {
	c.t.Helper()
	var got struct {
		IsError bool
		Content []struct{ Text string }
	}
	reply := c.run(fmt.Sprintf("host.again(%q, {})", tool))
	if err := json.Unmarshal([]byte(reply), &got); err != nil || len(got.Content) == 0 {
		c.t.Fatalf("%s: %s", tool, reply)
	}
	return got.Content[0].Text, got.IsError
}

// TestCardInAChat: in a host of MCP Apps, whose sandbox has another origin and the strictest
// policy, a person agrees, answers what the page asks, declines, types an answer, and clicks in the
// page, in both families of protocol versions; and the model's next call has the outcome.
func TestCardInAChat(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	host := chatHost(t)
	s := suite.Serve(t, "site="+suite.CardSite, "--cors", host)
	e := operatorsBrowser(t)
	for _, more := range []string{"&modern=true", "&modern=false&refuses=true"} {
		c := chatting(t, e, s, host, more)
		c.call("runs")
		c.until("Nothing waits for you here.")
		c.call("add")
		c.until("Run add on site?")
		c.presses("Allow", "Really add it?")
		c.presses("Cancel", "Answered")
		if got, failed := c.outcome("add"); failed || got != "added, false" {
			t.Errorf("%s: add came to %s", more, got)
		}
		c.call("add")
		c.until("Run add on site?")
		c.presses("Refuse", "Answered")
		if got, failed := c.outcome("add"); !failed || !strings.Contains(got, "a person said no") {
			t.Errorf("%s: add came to %s", more, got)
		}
		c.call("name")
		c.call("pagetools_waiting")
		c.until("Your name?")
		c.presses("OK", "Answered")
		if got, _ := c.outcome("name"); got != "Ada" {
			t.Errorf("%s: name came to %s", more, got)
		}
		c.actsInThePage(more)
		var said struct {
			Told, Heard []string
			Height      string
		}
		if err := json.Unmarshal([]byte(c.run("host.said()")), &said); err != nil {
			t.Fatal(err)
		}
		c.until(map[bool]string{true: "Answered. Tell the assistant to go on.", false: "Answered: I am done in the page."}[strings.Contains(more, "refuses")])
		agreed := strings.Contains(strings.Join(said.Told, "\n"), "I agreed. Call add again with the same arguments")
		if refuses := strings.Contains(more, "refuses"); agreed == refuses || !strings.Contains(strings.Join(said.Heard, " "), "ui/notifications/size-changed") {
			t.Errorf("%s: the host heard %+v", more, said)
		}
		c.isConfined()
	}
}

// call has the model call a tool, whose result the card gets.
func (c *chat) call(tool string) {
	c.t.Helper()
	c.run(fmt.Sprintf("host.call(%q, {})", tool))
}

// actsInThePage clicks on the seat in the picture, types a name there, and clicks again, which ends
// it.
func (c *chat) actsInThePage(more string) {
	c.t.Helper()
	c.call("seat")
	c.call("pagetools_waiting")
	c.until("The page, as it is now.")
	// The person looks what became of a click before they type, and click again: a card has a rate.
	answered := func() bool {
		return suite.Within(time.Second, func() bool { return strings.Contains(c.shows(), "Answered") })
	}
	suite.Eventually(c.t, suite.ReplyWithin, "the page has what it waits for", func() bool {
		if r, there := c.rect(".page img", ""); there && r.Width > 100 {
			c.click(r.X+r.Width*0.4, r.Y+r.Height*0.4) // the middle of the seat
		}
		if answered() {
			return true
		}
		c.press(c.t, "Z")
		return answered()
	})
	got, failed := c.outcome("seat")
	if failed || !strings.Contains(got, `"trusted":true`) || !strings.Contains(got, `"name":"Z`) {
		c.t.Errorf("%s: seat came to %s", more, got)
	}
}

// isConfined: nothing in the card broke the policy, it has no origin, and its height is that of
// what it shows.
func (c *chat) isConfined() {
	c.t.Helper()
	var facts struct {
		Violations  []string
		Origin      string
		Wide, Inner float64
		Box         float64
	}
	c.spy("facts", "", &facts)
	if len(facts.Violations) > 0 || facts.Origin != "null" || facts.Wide > facts.Inner {
		c.t.Errorf("the card: %+v", facts)
	}
	suite.Eventually(c.t, suite.ReplyWithin, "the frame is as high as the card", func() bool {
		return strings.Contains(c.run("host.said()"), fmt.Sprintf(`"height":"%vpx"`, facts.Box))
	})
	if facts.Box > 100 {
		c.t.Errorf("with nothing to answer, it is %v pixels high", facts.Box)
	}
}

// TestHandsOnTheCard: what a script does in the card answers nothing, and neither does a click on a
// button that has just appeared; the same click does when it was in sight for 600 ms.
func TestHandsOnTheCard(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	host := chatHost(t)
	s := suite.Serve(t, "site="+suite.CardSite, "--cors", host)
	c := chatting(t, operatorsBrowser(t), s, host, "&modern=true")
	c.spy("stop", "", nil)
	c.call("add")
	c.until("Run add on site?")
	press := func() { // until a click arrives: the frame grows, and the button moves
		t.Helper()
		var before, now int
		c.spy("clicks", "", &before)
		suite.Eventually(t, suite.ReplyWithin, "the click arrives", func() bool {
			if allow, there := c.rect("button", "Allow"); there {
				c.click(allow.X+allow.Width/2, allow.Y+allow.Height/2)
			}
			c.spy("clicks", "", &now)
			return now > before
		})
	}
	open := func(what string) {
		t.Helper()
		if got := c.run("host.said()"); strings.Contains(got, `"answer"`) {
			t.Errorf("%s answers: %s", what, got)
		}
	}
	for range 3 { // the frames in which it becomes visible, too
		press()
		open("a click at once")
	}
	c.spy("move", "599", nil)
	press()
	open("a click after 599 ms")
	for range 10 {
		c.spy("press", "button", nil)
		c.spy("press", "button", nil)
	}
	c.spy("move", "100000", nil)
	for range 10 {
		c.spy("press", "button", nil)
	}
	open("a script")
	c.spy("forge", "", nil) // a message that is not the host's
	c.spy("clicks", "", nil)
	if got := c.shows(); !strings.Contains(got, "Run add on site?") {
		t.Errorf("a message of another window: %s", got)
	}
	press()
	c.until("Really add it?")
	c.spy("go", "", nil)
	c.presses("OK", "Answered")
	if got, _ := c.outcome("add"); got != "added, true" {
		t.Errorf("it came to %s", got)
	}
}

// TestHurriedConsent (rule 7): the second click of two, of which the first closed a window that lay over the page, lets no client in:
// the button takes a mouse that has been over the page for a while.
func TestHurriedConsent(t *testing.T) {
	t.Parallel()
	s := suite.Serve(t, "site="+suite.CardSite, "--public-url", suite.PublicURL, "--sign-in", "--warm", "0")
	res, err := http.Post(s.URL+"/oauth/register", "application/json", strings.NewReader(`{"redirect_uris":["https://client.example/"]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var client struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&client); err != nil {
		t.Fatal(err)
	}
	c := &chat{showInBrowser(t, operatorsBrowser(t), s.URL+"/oauth/authorize?response_type=code&code_challenge_method=S256&code_challenge="+
		strings.Repeat("a", 43)+"&redirect_uri=https://client.example/&client_id="+client.ID, "button.allow"), t}
	c.run(`String(document.querySelector('button.allow').scrollIntoView())`)
	var allow rect
	if err := json.Unmarshal([]byte(c.run(`JSON.stringify(document.querySelector('button.allow').getBoundingClientRect())`)), &allow); err != nil {
		t.Fatal(err)
	}
	x, y := allow.X+allow.Width/2, allow.Y+allow.Height/2
	stops := func() bool { // the time for which it waits, unless that has passed
		for _, in := range []bridge.Input{{Type: bridge.MouseMove, X: 1, Y: 1}, {Type: bridge.MouseMove, X: x, Y: y}} {
			if err := c.Act(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		return c.run(`String(document.querySelector('button.allow').getAnimations().map((a) => a.pause()).length)`) == "1"
	}
	for n := 0; !stops(); n++ {
		if n == 100 {
			t.Fatal("the button does not wait")
		}
	}
	c.click(x, y)
	if at := c.run("location.pathname"); at != "/oauth/authorize" {
		t.Errorf("a click at once leads to %s", at)
	}
	c.run(`String(document.querySelector('button.allow').getAnimations().map((a) => a.finish()))`)
	c.click(x, y)
	suite.Eventually(t, suite.ReplyWithin, "a click counts", func() bool { return c.run("location.pathname") == "/oauth/consent" })
}

// TestHostileCard (rule 6): what pages and callers write is shown on the card as text, however much
// it is, a page's words up to a bound, and the card stays usable; a model's words in tool-input are not shown.
func TestHostileCard(t *testing.T) {
	t.Parallel()
	host := chatHost(t)
	s := suite.Serve(t, "site="+suite.CardSite, "--cors", host)
	c := chatting(t, operatorsBrowser(t), s, host, "&modern=true&theme=dark")
	const call = `"hostile", {"</script><b>a": Array.from({length: 10000}, (_, i) => "\u202e\u200b<img src=x>" + i)}`
	c.run("host.call(" + call + ")")
	c.until("Arguments, all of them")
	text := c.shows()
	for _, want := range []string{`\u{202e}`, `\u{200b}`, `</script><img src=x onerror=`, `&amp;`, `9999`, `</script><b>a`} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %s", want)
		}
	}
	var html string
	c.spy("html", "", &html)
	if strings.Contains(html, "<img") || strings.Contains(html, "<b>") || strings.ContainsAny(html, "\u202e\u200b") || strings.Contains(text, "lie") {
		t.Error("what strangers wrote became markup, or acts on it")
	}
	var facts struct {
		Violations  []string
		Scheme      string
		Wide, Inner float64
		Danger      string
		Unknown     string
		Box         float64
	}
	if c.spy("facts", "", &facts); facts.Scheme != "dark" || facts.Wide > facts.Inner || facts.Box > 1500 || len(facts.Violations) > 0 {
		t.Errorf("it is %+v", facts)
	}
	c.run(`host.theme("light")`)
	suite.Eventually(t, suite.ReplyWithin, "the card has the host's colors", func() bool {
		c.spy("facts", "", &facts)
		return facts.Scheme == "light" && facts.Danger == "rgb(1, 2, 3)" && facts.Unknown == ""
	})
	c.presses("Allow", "Cancel")
	text = c.shows() // what the page asks is 1 MiB
	c.spy("html", "", &html)
	c.spy("facts", "", &facts)
	if n := strings.Count(text, "</script><img src=x onerror="); n < 10 || n > 60 || strings.Contains(html, "<img") || facts.Wide > facts.Inner || facts.Box > 1500 || len(facts.Violations) > 0 {
		t.Errorf("it shows what 1 MiB repeats %d times, and is %+v", n, facts)
	}
	c.presses("OK", "Answered")
	if got := c.run("host.again(" + call + ")"); !strings.Contains(got, `"text":"true"`) {
		t.Errorf("after a yes, the call comes to %s", got)
	}
}
