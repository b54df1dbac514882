package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

//go:embed page.html
var pageHTML string

//go:embed style.css
var style string

// How many bytes a picture in a page may have, and all of them. What is over is left out; the
// paths of pictures are always there.
const (
	largestPicture = 4 << 20
	allPictures    = 32 << 20
)

type htmlPage struct {
	Run       htmlRun
	Verdict   string // passed or failed
	Started   string
	Style     template.CSS
	StyleHash string
	Groups    []group
	Cases     []htmlCase
}

type htmlRun struct {
	*Run
	Summary string
}

type htmlCase struct {
	Case     Case
	Label    string
	Took     string
	Open     bool
	Trace    string // the link
	Parts    []htmlPart
	Pictures []htmlPicture
}

type htmlPart struct {
	part
	Lines []htmlLine
}

type htmlLine struct {
	Text   string
	Marked bool
}

type htmlPicture struct {
	Title string
	Data  template.URL
}

// writeHTML writes one page that needs nothing else: no script, no address, pictures inside.
func writeHTML(run *Run) ([]byte, error) {
	page, err := template.New("page").Funcs(template.FuncMap{
		"line": text.EscapeLine, "lines": lines, "plural": text.Count, "position": position, "help": helpURL,
		"severity": severity,
	}).Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(style))
	data := htmlPage{
		Run: htmlRun{run, run.summary()}, Verdict: "passed", Groups: run.groups(),
		Started:   run.Started.UTC().Format("2006-01-02 15:04:05 UTC"),
		Style:     template.CSS(style), //nolint:gosec // it is our own file
		StyleHash: "sha256-" + base64.StdEncoding.EncodeToString(sum[:]),
	}
	if run.Failed() {
		data.Verdict = "failed"
	}
	left := allPictures
	failed := run.failures()
	for i := range run.Cases {
		c := &run.Cases[i]
		told := slices.IndexFunc(failed, func(f failure) bool { return f.ways[0] == c })
		switch {
		case told >= 0:
			data.Cases = append(data.Cases, failed[told].html(run.folder, &left))
		case c.Status != Failed:
			data.Cases = append(data.Cases, htmlCase{Case: *c, Label: c.label(), Took: took(c.Took)})
		}
	}
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (f *failure) html(folder string, left *int) htmlCase {
	c := f.ways[0]
	h := htmlCase{Case: *c, Label: f.label(), Took: took(c.Took), Open: true, Trace: link(folder, c.Trace)}
	for _, p := range f.explain() {
		part := htmlPart{part: p}
		for text := range strings.SplitSeq(lines(p.Text), "\n") {
			part.Lines = append(part.Lines, htmlLine{text, strings.HasPrefix(text, "> ")})
		}
		h.Parts = append(h.Parts, part)
	}
	if c.Failure != nil {
		h.picture("The page before the step", c.Failure.Before, left)
		h.picture("The page after the step", c.Failure.After, left)
	}
	return h
}

// traceFile matches a path that is linked, because nobody can take it for another
// address.
var traceFile = regexp.MustCompile(`^[A-Za-z0-9_.-][A-Za-z0-9_./-]*/trace\.zip$`)

// link is the way from a report to a trace; "" when it cannot be linked.
func link(folder, trace string) string {
	way, err := filepath.Rel(folder, trace)
	if way = filepath.ToSlash(way); err != nil || trace == "" || !traceFile.MatchString(way) {
		return ""
	}
	return way
}

// picture adds a picture, when it is one, and takes its size from what is left.
func (h *htmlCase) picture(title string, png []byte, left *int) {
	if !bytes.HasPrefix(png, []byte("\x89PNG\r\n\x1a\n")) || len(png) > min(largestPicture, *left) {
		return
	}
	*left -= len(png)
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(png)
	h.Pictures = append(h.Pictures, htmlPicture{title, template.URL(data)}) //nolint:gosec // base64
}
