package serve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

var newPicture = flag.Bool("picture", false, "make the picture of the README anew")

const (
	pictureFile                 = "docs/session.svg"
	minuteFile                  = "docs/first-minute.svg"
	pictureWidth, pictureHeight = 880, 640
	captionHeight, lineHeight   = 40, 21
	largestPicture              = 400 << 10
)

// TestPicture (D11): the picture of the README shows a session that happens today: a page is
// served, an agent calls a tool, and a person agrees, takes the pen in the live view and
// books. Its words come from this run. Its screenshots are taken with -picture.
func TestPicture(t *testing.T) {
	if !*newPicture {
		gatetest.Nightly(t, "it plays the whole session of the README's picture")
	}
	t.Parallel()
	s := playSession(t)
	if !*newPicture {
		old, err := os.ReadFile(filepath.Join(docs.Root(t), filepath.FromSlash(pictureFile)))
		if err != nil {
			t.Fatal(err)
		}
		s.shots = shotsOf(old)
	}
	if len(s.shots) != 3 {
		t.Fatalf("there are %d screenshots", len(s.shots))
	}
	isShown(t, pictureFile, s.svg())
}

// isShown fails when a picture does not show what happens today. With -picture it is made anew.
func isShown(t *testing.T, name string, now []byte) {
	t.Helper()
	file := filepath.Join(docs.Root(t), filepath.FromSlash(name))
	if *newPicture {
		if err := os.WriteFile(file, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(now) > largestPicture {
		t.Errorf("%s has %d bytes", name, len(now))
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(now)) {
		if !bytes.Contains(old, []byte(line)) {
			t.Errorf("%s does not show this (make picture): %.300s", name, line)
		}
	}
	if !bytes.Equal(now, old) {
		t.Errorf("%s shows something else than this", name)
	}
}

// TestFirstMinute: the README's picture of the first minute shows what these commands print.
func TestFirstMinute(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	w := newReader(t)
	defer w.end()
	line, body := 0, ""
	for i, step := range []struct {
		about, command string
		code           int
	}{
		{"What can an agent do with this page?", "bin/pagetools tools examples/today", 0},
		{"A mistake is explained, and nothing runs", "bin/pagetools call examples/today add-to-cart product=rye quantity=99", 2},
		{"A tool that changes something asks you first", "bin/pagetools call examples/today add-to-cart product=rye quantity=2", 0},
	} {
		w.run(step.command, step.code)
		if i > 0 {
			body += textAt(line, "# "+step.about)
			line++
		}
		body += commandAt(line, strings.TrimPrefix(step.command, "bin/"))
		line++
		for said := range strings.Lines(progress.ReplaceAllString(w.last.all.String(), "")) {
			rows := outputAt(line, []string{sitePort.ReplaceAllString(strings.TrimSuffix(said, "\n"), "127.0.0.1:38211")})
			body += rows
			line += max(1, strings.Count(rows, "<text"))
		}
		line++
	}
	height := captionHeight + (line+1)*lineHeight
	isShown(t, minuteFile, pictureOf("The tools of a page are listed; a wrong call is explained; one that changes something asks first", "",
		caption("What can an agent do with this page?")+terminal(height)+body, height))
}

// played is a session: what was typed and printed at two terminals, and what the operators'
// page showed.
type played struct {
	serve, call   string
	served, reply []string
	shots         [][]byte // PNG
}

func playSession(t *testing.T) *played {
	w := newReader(t)
	defer w.end()
	p := &played{
		serve: "bin/pagetools serve examples/wizard",
		call:  "go run ./examples/agent-http http://127.0.0.1:7300/webtools/wizard \\\n" + `    book-seat '{"play":"tempest"}'`,
	}
	w.run(p.serve, 0)
	box := w.going[0].all.String()
	for line := range strings.Lines(box) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "│"); ok {
			p.served = append(p.served, w.public(strings.TrimRight(strings.TrimSuffix(text, "│"), " ")))
		}
	}
	page := operatorsLink.FindStringSubmatch(box)
	if page == nil {
		t.Fatalf("it does not say where the operators' page is:\n%s", box)
	}
	s := &suite.Server{URL: "http://" + w.listen}
	s.Ready.Console.URL, s.Ready.Console.Token = page[1], page[2]

	w.run(p.call, 0)
	browser := operatorsBrowser(t)
	if *newPicture {
		browser = browserOf(t, pictureWidth, pictureHeight-captionHeight)
	}
	w.question()
	asked := showInBrowser(t, browser, page[0], "article[data-id]")
	asked.press(t, "a")
	p.shoot(t, asked)
	asked.allow(t)

	w.question()
	live := showInBrowser(t, browser, page[0], "article[data-id]")
	watching := viewer(t, s)
	live.press(t, "l")
	live.take(t, watching)
	live.press(t, "ArrowRight")
	p.shoot(t, live)
	live.press(t, "Enter", "A", "d", "a", "Tab", " ")
	p.shoot(t, live)
	live.press(t, "Enter")
	hears(t, watching, "the end", func(s liveState) bool { return s.Over })

	call := w.going[1]
	if !suite.Within(suite.ReplyWithin, call.hasEnded) {
		t.Fatalf("the call does not end:\n%s", call.all)
	}
	for line := range strings.Lines(call.all.String()) {
		p.reply = append(p.reply, w.public(strings.TrimSpace(line)))
	}
	if !strings.Contains(p.reply[len(p.reply)-1], `"signed":"Ada"`) {
		t.Errorf("the call returned %s", call.all)
	}
	return p
}

var (
	operatorsLink = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#(\w+)`)
	browserNumber = regexp.MustCompile(`(Headless)?Chrome/[\d.]+`)
	sitePort      = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	progress      = regexp.MustCompile(`\r?pagetools: opening [^\r\n]* \d+ s|\r +\r|\r`) // a terminal writes over it
	untilTime     = regexp.MustCompile(`until \d\d:\d\d:\d\d`)
)

// public replaces what differs from run to run.
func (w *reader) public(line string) string {
	line = operatorsLink.ReplaceAllString(line, "http://127.0.0.1:7301/#…")
	line = untilTime.ReplaceAllString(line, "until 12:05:00")
	return browserNumber.ReplaceAllString(strings.ReplaceAll(line, w.listen, "127.0.0.1:7300"), "Chrome")
}

// shoot takes a picture of the operators' page, when it has stopped to change.
func (p *played) shoot(t *testing.T, page *shownPage) {
	t.Helper()
	if !*newPicture {
		return
	}
	var last, shot []byte
	if len(p.shots) > 0 {
		last = p.shots[len(p.shots)-1]
	}
	same := 0
	suite.Eventually(t, suite.ReplyWithin, "a still page", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), suite.StopWithin)
		defer cancel()
		now, err := page.Tab.(session.Photographer).Screenshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if same++; !bytes.Equal(now, shot) {
			same = 0
		}
		shot = now
		return same > 20 && !bytes.Equal(shot, last)
	})
	p.shots = append(p.shots, shot)
}

var shotInside = regexp.MustCompile(`data:image/png;base64,([^"]+)`)

// shotsOf are the screenshots in a picture.
func shotsOf(svg []byte) (shots [][]byte) {
	for _, match := range shotInside.FindAllSubmatch(svg, -1) {
		if shot, err := base64.StdEncoding.AppendDecode(nil, match[1]); err == nil && http.DetectContentType(shot) == "image/png" {
			shots = append(shots, shot)
		}
	}
	return shots
}

// drawing is an animated SVG. It has no script, and loads nothing.
type drawing struct {
	style, body strings.Builder
	length      float64 // seconds
	parts       int
}

// show shows markup from one second to another. People who want no motion see the still
// part.
func (d *drawing) show(from, to float64, still bool, markup string) {
	d.parts++
	at := func(s float64) string { return fmt.Sprintf("%.2f%%", s/d.length*100) }
	fmt.Fprintf(&d.style, "@keyframes p%[1]d{0%%{opacity:%[2]d}%[3]s{opacity:1}%[4]s{opacity:0}}#p%[1]d{animation:p%[1]d %[5]gs steps(1,end) infinite}\n",
		d.parts, map[bool]int{true: 1}[from == 0], at(from), at(to), d.length)
	class := ""
	if still {
		class = ` class="still"`
	}
	fmt.Fprintf(&d.body, "<g id=\"p%d\"%s opacity=\"0\">\n%s</g>\n", d.parts, class, markup)
}

// svg draws the session.
func (p *played) svg() []byte {
	d := &drawing{length: 24}
	call := strings.Split(p.call, "\n")
	d.show(0, 9, false, caption("1  Point pagetools at a web app")+terminal(pictureHeight)+commandAt(0, p.serve))
	d.show(1.5, 9, false, outputAt(2, p.served))
	d.show(4.5, 9, false, commandAt(len(p.served)+3, call...))
	d.show(6.5, 9, false, outputAt(len(p.served)+3+len(call), p.reply[:1]))
	d.show(9, 13, false, caption("2  An agent calls a tool, and you are asked")+shot(p.shots[0]))
	d.show(13, 16.5, true, caption("3  The page needs you: it is live, and the pen is yours")+shot(p.shots[1]))
	d.show(16.5, 19.5, false, caption("3  The page needs you: it is live, and the pen is yours")+shot(p.shots[2]))
	d.show(19.5, 24, false, caption("4  The agent has the result")+terminal(pictureHeight)+commandAt(0, call...)+outputAt(len(call), p.reply))
	return pictureOf("pagetools serves a theatre's page; an agent books a seat; a person agrees, picks the seat in the live view and signs", d.style.String()+
		"@media (prefers-reduced-motion:reduce){g[id]{animation:none}g.still{opacity:1}}\n", d.body.String(), pictureHeight)
}

// pictureOf is an SVG.
func pictureOf(title, style, body string, height int) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title">
<title id="title">%[3]s</title>
<style>
text{white-space:pre;font:14px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6dde6}
.caption{font:600 17px system-ui,sans-serif;fill:#fff}
.prompt{fill:#7cc49c}
%[4]s</style>
<rect width="%[1]d" height="%[2]d" rx="8" fill="#1f5f8b"/>
%[5]s</svg>
`, pictureWidth, height, title, style, body)
}

// caption says what a part shows.
func caption(text string) string {
	return fmt.Sprintf("<text class=\"caption\" x=\"18\" y=\"26\">%s</text>\n", html.EscapeString(text))
}

// terminal draws the ground under the caption of a picture.
func terminal(height int) string {
	return fmt.Sprintf("<rect y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#10151c\"/>\n", captionHeight, pictureWidth, height-captionHeight)
}

func shot(png []byte) string {
	return fmt.Sprintf("<image y=\"%d\" width=\"%d\" height=\"%d\" href=\"data:image/png;base64,%s\"/>\n", captionHeight, pictureWidth, pictureHeight-captionHeight, base64.StdEncoding.EncodeToString(png))
}

func textAt(line int, markup string) string {
	return fmt.Sprintf("<text x=\"18\" y=\"%d\">%s</text>\n", captionHeight+(line+1)*lineHeight+8, markup)
}

// commandAt is a command from a line on.
func commandAt(line int, command ...string) (markup string) {
	for i, part := range command {
		if part = html.EscapeString(part); i == 0 {
			part = `<tspan class="prompt">$ </tspan>` + part
		}
		markup += textAt(line+i, part)
	}
	return markup
}

// outputAt are lines that a program printed, wrapped as a terminal does.
func outputAt(line int, lines []string) (markup string) {
	const columns = 96
	for _, l := range lines {
		for part := range slices.Chunk([]rune(l), columns) {
			markup += textAt(line, html.EscapeString(string(part)))
			line++
		}
		if l == "" {
			line++
		}
	}
	return markup
}
