package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Baseline is a list of known findings, which do not count. The zero value knows none.
type Baseline struct {
	Known []Known
}

// Known is a finding by its place; its message and severity may change. Page is the path of the
// page with its query and fragment, so that another host or port is the same page.
type Known struct {
	Rule    string `json:"rule"`
	Target  string `json:"target,omitempty"`
	Page    string `json:"page,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Pointer string `json:"pointer,omitempty"`
}

const baselineVersion = 1

type baselineFile struct {
	BaselineVersion int     `json:"baselineVersion"`
	Findings        []Known `json:"findings"`
}

// NewBaseline knows exactly these findings.
func NewBaseline(findings []Finding) *Baseline {
	b := &Baseline{}
	for _, f := range findings {
		b.Known = append(b.Known, knownOf(f))
	}
	b.sort()
	return b
}

func knownOf(f Finding) Known {
	return Known{Rule: f.Rule, Target: f.Where.Target, Page: pathOf(f.Where.Page), Tool: f.Where.Tool,
		Pointer: f.Where.Pointer}
}

// pathOf returns the part of an address that stays the same on another host.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return address
	}
	if u.Fragment != "" { // of an app that has its routes there
		return u.RequestURI() + "#" + u.EscapedFragment()
	}
	return u.RequestURI()
}

func (b *Baseline) sort() {
	slices.SortFunc(b.Known, func(x, y Known) int {
		return cmp.Or(cmp.Compare(x.Target, y.Target), cmp.Compare(x.Page, y.Page), cmp.Compare(x.Tool, y.Tool),
			cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.Pointer, y.Pointer))
	})
	b.Known = slices.Compact(b.Known)
}

// ReadBaseline reads a file that JSON wrote. The error says what is wrong with it, in the words.
func ReadBaseline(b []byte, w text.Words) (*Baseline, error) {
	var file baselineFile
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	repair := w.Of("restore it, or write it anew")
	if err := dec.Decode(&file); err != nil {
		at := int64(len(b)) // where it ends too early
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = syntax.Offset
		} else if !errors.Is(err, io.ErrUnexpectedEOF) {
			at = dec.InputOffset()
		}
		line, column := lineOf(b, at)
		return nil, fmt.Errorf("line %d, column %d: not a baseline (%w): %s", line, column, err, repair)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not a baseline (more than one JSON value): %s", repair)
	}
	if file.BaselineVersion != baselineVersion {
		return nil, fmt.Errorf("the baseline has version %d, and this pagetools reads %d: "+
			"%s", file.BaselineVersion,
			baselineVersion, repair)
	}
	for _, k := range file.Findings {
		if _, err := ruleByID(k.Rule); err != nil {
			return nil, fmt.Errorf("the baseline names an %w", err)
		}
	}
	known := &Baseline{Known: file.Findings}
	known.sort()
	return known, nil
}

// JSON returns the file: sorted, one finding after the other, so that two versions can be
// compared line by line.
func (b *Baseline) JSON() []byte {
	sorted := &Baseline{Known: append([]Known{}, b.Known...)}
	sorted.sort()
	out, err := schema.EncodeFile(baselineFile{baselineVersion, sorted.Known})
	if err != nil { // texts only: cannot happen
		panic("encoding a baseline: " + err.Error())
	}
	return out
}

// Apply divides findings into new ones and known ones, each in their order. Gone are the entries
// that no finding has any more: NewBaseline of the same findings drops them.
func (b *Baseline) Apply(findings []Finding) (fresh, known []Finding, gone []Known) {
	occurs := map[Known]bool{}
	for _, k := range b.Known {
		occurs[k] = false
	}
	for _, f := range findings {
		k := knownOf(f)
		if _, there := occurs[k]; there {
			occurs[k] = true
			known = append(known, f)
			continue
		}
		fresh = append(fresh, f)
	}
	return fresh, known, slices.DeleteFunc(slices.Clone(b.Known), func(k Known) bool { return occurs[k] })
}
