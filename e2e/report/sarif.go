package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// The objects of SARIF 2.1.0 that we write.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		ShortDescription sarifText    `json:"shortDescription"`
		FullDescription  sarifText    `json:"fullDescription"`
		Help             sarifText    `json:"help"`
		HelpURI          string       `json:"helpUri,omitempty"`
		Default          sarifDefault `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifInvocation struct {
		Successful bool   `json:"executionSuccessful"`
		Start      string `json:"startTimeUtc"`
		End        string `json:"endTimeUtc"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		Name      string `json:"name,omitempty"`
		Qualified string `json:"fullyQualifiedName"`
		Kind      string `json:"kind"`
	}
)

const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/" +
	"sarif-schema-2.1.0.json"

// ruleCase is the id of results that are failed cases.
const ruleCase = "case-failed"

var levels = map[check.Severity]string{
	check.Error: "error", check.Warning: "warning", check.Info: "note",
}

func level(s check.Severity) string {
	return cmp.Or(levels[s], "none")
}

func writeSARIF(run *Run) ([]byte, error) {
	w := &sarifWriter{index: map[string]int{}, seen: map[string]int{}}
	for _, r := range run.Rules {
		w.rule(r)
	}
	for _, f := range run.Findings {
		w.finding(f)
	}
	for i := range run.Cases {
		if run.Cases[i].Status == Failed {
			w.failure(&run.Cases[i])
		}
	}
	const form = "2006-01-02T15:04:05.000Z"
	return encode(sarifLog{
		Schema:  sarifSchema,
		Version: "2.1.0",
		Runs: []sarifRun{{
			Tool: sarifTool{sarifDriver{
				Name: "pagetools", Version: text.EscapeLine(run.Version),
				InformationURI: "https://github.com/pagetools/pagetools",
				Rules:          append([]sarifRule{}, w.rules...),
			}},
			Invocations: []sarifInvocation{{
				Successful: !run.Interrupted, Start: run.Started.UTC().Format(form),
				End: run.Started.Add(run.Took).UTC().Format(form),
			}},
			ColumnKind: "utf16CodeUnits",
			Results:    append([]sarifResult{}, w.results...),
		}},
	})
}

type sarifWriter struct {
	rules   []sarifRule
	index   map[string]int // of rules, by id
	results []sarifResult
	seen    map[string]int // how often a fingerprint came
}

// rule returns the index of a rule, and adds it when it is new.
func (w *sarifWriter) rule(r Rule) int {
	if i, ok := w.index[r.ID]; ok {
		return i
	}
	what := cmp.Or(lines(r.What), text.EscapeLine(r.ID), "a rule without a name") // SARIF wants words
	why := cmp.Or(lines(r.Why), what)
	help := helpURL(r.ID)
	if r.ID == ruleCase {
		help = "" // it is not a rule, and has no page
	}
	w.index[r.ID] = len(w.rules)
	w.rules = append(w.rules, sarifRule{
		ID: text.EscapeLine(r.ID), ShortDescription: sarifText{what}, FullDescription: sarifText{why},
		Help: sarifText{why}, HelpURI: help, Default: sarifDefault{level(cmp.Or(r.Severity, check.Warning))},
	})
	return w.index[r.ID]
}

func (w *sarifWriter) finding(f check.Finding) {
	words := f.Message
	if f.Where.Pointer != "" {
		words += " At " + f.Where.Pointer + "."
	}
	location := sarifLocation{Logical: logical(f.Where)}
	if s := f.Where.Script; s != nil && s.URL != "" {
		location.Physical = physical(s.URL, s.Line, s.Column)
	}
	w.results = append(w.results, sarifResult{
		RuleID: text.EscapeLine(f.Rule), RuleIndex: w.rule(Rule{ID: f.Rule, Severity: f.Severity}),
		Level: level(f.Severity), Message: sarifText{lines(cmp.Or(words, f.Rule))}, Locations: []sarifLocation{location},
		Fingerprints: w.fingerprint(f.Rule, f.Where.Target, pathOf(f.Where.Page), f.Where.Tool,
			f.Where.Pointer),
	})
}

func (w *sarifWriter) failure(c *Case) {
	p := c.point()
	words := c.label() + ": " + p.message + "\n" + p.details
	location := sarifLocation{Logical: []sarifLogical{{
		Name: text.EscapeLine(c.label()), Qualified: text.EscapeLine(c.File + "/" + c.Name + "/" + c.Door), Kind: "function",
	}}}
	if c.File != "" {
		location.Physical = physical(c.File, c.line(), 0)
	}
	w.results = append(w.results, sarifResult{
		RuleID: ruleCase,
		RuleIndex: w.rule(Rule{
			ID: ruleCase, Severity: check.Error, What: "A case of a scenario failed.",
			Why: "What the site does differs from what its scenario says.",
		}),
		Level:        "error",
		Message:      sarifText{lines(strings.TrimSpace(words))},
		Locations:    []sarifLocation{location},
		Fingerprints: w.fingerprint(ruleCase, c.File, c.Name, c.Door, ""),
	})
}

// logical names the tool of a finding, or its page.
func logical(w check.Where) []sarifLogical {
	if w.Tool == "" {
		return []sarifLogical{{Qualified: text.EscapeLine(page(w)), Kind: "module"}}
	}
	return []sarifLogical{{
		Name: text.EscapeLine(w.Tool), Qualified: text.EscapeLine(page(w) + "#" + w.Tool), Kind: "function",
	}}
}

// physical is a place in a file or a script. Its address is one that SARIF takes, whatever it was
// made of.
func physical(place string, at, column int) *sarifPhysical {
	uri := ""
	if path, ok := localFile(place); ok {
		u := url.URL{Path: filepath.ToSlash(path)}
		if strings.HasPrefix(u.Path, "/") {
			u.Scheme = "file"
		}
		uri = u.String()
	} else if u, err := url.Parse(place); err == nil {
		uri = u.String()
	}
	p := &sarifPhysical{Artifact: sarifArtifact{text.EscapeLine(uri)}}
	if at > 0 {
		p.Region = &sarifRegion{at, max(column, 0)}
	}
	return p
}

// pathOf is the path of a page: hosts and ports differ from run to run.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Path
}

// fingerprint is the same in every run that finds the same thing in the same place, whatever the
// words are. The second of two gets another one.
func (w *sarifWriter) fingerprint(parts ...string) map[string]string {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	key := hex.EncodeToString(sum.Sum(nil)[:16])
	w.seen[key]++
	return map[string]string{"pagetools/v1": key + ":" + strconv.Itoa(w.seen[key])}
}
