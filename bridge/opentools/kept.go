package opentools

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
)

// Cache keeps what was read of documents, for a later process of the same program. What it returns is
// believed: nobody but the user may write to it.
type Cache interface {
	// Load returns what was saved last with the name; nil is nothing.
	Load(name string) []byte
	Save(name string, data []byte) error
}

// maxKept bounds what is kept of one site, in bytes.
const maxKept = 32 << 20

// keptSite is what is kept of an edition.
type keptSite struct {
	About        About
	Tag, Changed string
	Sum          [sha256.Size]byte
	Good         time.Time // until when it is used where it cannot be asked for
	Findings     []bridge.Finding
	Schemes      map[string]json.RawMessage // the objects of security schemes, by their names
	// Tools and Decisions follow, so many of each; then the schemas of what was decided, which are so
	// long. They are a part of the text as it was read, and no copies.
	Tools, Decisions int
	Lengths          []int
}

// keptTool is a tool with what its calls need.
type keptTool struct {
	Tool         Tool
	Parameters   []parameter
	Body         *body
	Accept       string
	Server       string
	Alternatives [][]oauth.Scheme // without their objects
	Digest       string           // of its declaration
}

// keptAs names what is kept of the site: what was read with other options is another.
func (a *api) keptAs() string {
	of, err := json.Marshal([]any{a.URL, a.Origin, a.Pages, a.Expose, a.Guess, a.Full, a.Origins, a.router.o.Limits})
	if err != nil { // texts and numbers: cannot happen
		panic("encoding the options of a site: " + err.Error())
	}
	sum := sha256.Sum256(of)
	return hex.EncodeToString(sum[:])
}

// keep keeps an edition, unless its site says that nobody may.
func (a *api) keep(e *edition, good time.Time) error {
	if a.router.o.Cache == nil || e.about.private {
		return nil
	}
	decisions := e.catalog.Decisions()
	schemas, lengths := takeSchemas(decisions)
	var w bounded
	room := 1 << 12
	for _, s := range schemas {
		room += len(s)
	}
	for _, t := range e.catalog.Tools() {
		room += len(t.Description()) + 1<<11
	}
	w.Grow(min(room, maxKept))                // growing would take as much again, and more
	w.Buffer.Write(make([]byte, sha256.Size)) // of what follows
	to := gob.NewEncoder(&w)
	tools, schemes := e.kept()
	if err := to.Encode(keptSite{e.about, e.about.tag, e.about.changed, e.about.sum, good, e.catalog.Findings(), schemes,
		len(tools), len(decisions), lengths}); err != nil {
		return err
	}
	for i := range tools {
		if err := to.Encode(&tools[i]); err != nil {
			return err
		}
	}
	for i := range decisions {
		if err := to.Encode(&decisions[i]); err != nil {
			return err
		}
	}
	for _, s := range schemas {
		if _, err := w.Write(s); err != nil {
			return err
		}
	}
	data := w.Bytes()
	sum := sha256.Sum256(data[sha256.Size:])
	copy(data, sum[:])
	return a.router.o.Cache.Save(a.keptAs(), data)
}

// takeSchemas takes the schemas of decisions out of them.
func takeSchemas(decisions []bridge.Decision) (schemas []json.RawMessage, lengths []int) {
	eachSchema(decisions, func(s *json.RawMessage) bool {
		schemas, lengths = append(schemas, *s), append(lengths, len(*s))
		*s = nil
		return true
	})
	return schemas, lengths
}

// putSchemas puts the schemas back, which text has at its end. It reports whether that has them.
func putSchemas(decisions []bridge.Decision, lengths []int, text []byte) bool {
	i, at := 0, len(text)
	for _, n := range lengths {
		at -= n
	}
	if at < 0 {
		return false
	}
	return eachSchema(decisions, func(s *json.RawMessage) bool {
		if i == len(lengths) || lengths[i] < 0 || lengths[i] > len(text)-at {
			return false
		}
		*s = text[at : at+lengths[i] : at+lengths[i]]
		at += lengths[i]
		i++
		return true
	})
}

// eachSchema calls f with each schema of what was decided, until it returns false.
func eachSchema(decisions []bridge.Decision, f func(*json.RawMessage) bool) bool {
	for _, d := range decisions {
		if d.Tool == nil {
			continue
		}
		if !f(&d.Tool.Input.JSON) || d.Tool.Output != nil && !f(&d.Tool.Output.JSON) {
			return false
		}
	}
	return true
}

// kept is what is kept of the tools, and the objects of their security schemes: many tools have the same,
// which may be large.
func (e *edition) kept() (tools []keptTool, schemes map[string]json.RawMessage) {
	schemes = map[string]json.RawMessage{}
	for _, t := range e.catalog.Tools() {
		o := e.tools[t.Name()]
		alternatives := make([][]oauth.Scheme, len(o.alternatives))
		for i, one := range o.alternatives {
			for _, s := range one {
				schemes[s.Name], s.Object = s.Object, nil
				alternatives[i] = append(alternatives[i], s)
			}
		}
		tools = append(tools, keptTool{*o.Tool, o.parameters, o.body, o.accept, o.server.String(), alternatives, t.Digest()})
	}
	return tools, schemes
}

// keepNow keeps what there is now, unless that is kept. What is good for longer than it was is kept again
// each hour.
func (a *api) keepNow() {
	a.mu.Lock()
	now, good := a.now, a.good
	due := now != nil && (now.catalog != a.keptList || good.Sub(a.kept) > time.Hour)
	if due {
		a.keptList, a.kept = now.catalog, good
	}
	a.mu.Unlock()
	if !due {
		return
	}
	if err := a.keep(now, good); err != nil {
		a.router.o.Log.Warn("site: its document is not kept for the next start", "site", a.Name, "error", err)
	}
}

// recall is remember, for the first look.
func (a *api) recall() *edition {
	e, good := a.remember()
	if e == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keptList, a.kept, a.good = e.catalog, good, good
	return e
}

// remember returns what was kept of the site, and until when it is good; nil is nothing.
func (a *api) remember() (*edition, time.Time) {
	if a.router.o.Cache == nil {
		return nil, time.Time{}
	}
	data := a.router.o.Cache.Load(a.keptAs())
	if len(data) < sha256.Size {
		return nil, time.Time{}
	}
	var k keptSite
	sum := sha256.Sum256(data[sha256.Size:])
	from := gob.NewDecoder(bytes.NewReader(data[sha256.Size:]))
	if !bytes.Equal(sum[:], data[:sha256.Size]) || from.Decode(&k) != nil {
		return nil, time.Time{} // it is damaged
	}
	if a.router.o.Now().After(k.Good) {
		return nil, time.Time{}
	}
	e := &edition{about: k.About, tools: make(map[string]offered, k.Tools)}
	e.about.tag, e.about.changed, e.about.sum = k.Tag, k.Changed, k.Sum
	declared := make([]bridge.Declaration, 0, k.Tools)
	for range k.Tools {
		var kt keptTool
		if from.Decode(&kt) != nil {
			return nil, time.Time{}
		}
		server, err := url.Parse(kt.Server)
		if err != nil {
			return nil, time.Time{}
		}
		t := kt.Tool
		t.parameters, t.body, t.accept = kt.Parameters, kt.Body, kt.Accept
		for _, one := range kt.Alternatives {
			for i := range one {
				one[i].Object = k.Schemes[one[i].Name]
			}
		}
		e.tools[t.Name] = offered{&t, server, kt.Alternatives}
		d := bridge.Declaration{Origin: a.Origin, Own: true, Name: t.Name}
		d.SealAs(kt.Digest) // what was decided of it has the rest
		declared = append(declared, d)
	}
	decisions := make([]bridge.Decision, k.Decisions)
	for i := range decisions {
		if from.Decode(&decisions[i]) != nil {
			return nil, time.Time{}
		}
	}
	if !putSchemas(decisions, k.Lengths, data) {
		return nil, time.Time{}
	}
	e.catalog, _ = bridge.NewCatalog(bridge.Remembered(decisions, a.router.o.Limits), declared, a.router.o.Limits)
	e.catalog = e.catalog.With(k.Findings)
	return e, k.Good
}

// bounded is a buffer of maxKept bytes.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxKept {
		return 0, fmt.Errorf("it has more than %d MiB", maxKept>>20)
	}
	return b.Buffer.Write(p)
}
