package opentools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/text"
)

// What a document may be. A site that is within the first of these can still be written to cost
// much: the others bound what is made of it.
const (
	maxDocument   = 20 << 20 // bytes
	maxOperations = 5_000    // that are read; GitHub has 1,200
	maxMembers    = 100_000  // of one object
	maxPath       = 8 << 10  // bytes of a path
	maxPart       = 1 << 20  // bytes of an operation, and of what a reference leads to
	maxParameters = 1024     // of one operation
	maxNotes      = 10       // on what of its parameters is not sent
	maxDescribed  = 16 << 10 // bytes of a title, and of a description
	maxWork       = 64 << 20 // bytes that references make us read again; of real documents 20 MB at most
)

// Document is an OpenAPI document, of which only the places of operations and components are known:
// what is in them is read when it is needed.
type Document struct {
	// Root is x-llm at the root; nil when the document has none.
	Root *Root
	// Title and Version come from info.
	Title, Version string
	// Operations are in the order of the document.
	Operations []Place

	text       json.RawMessage
	top        map[string]json.RawMessage
	old        bool                                  // OpenAPI 3.0
	paths      map[string]json.RawMessage            // Path Item Objects
	left       int                                   // operations that are too many
	wrong      []string                              // entries that are not as they must be, with their places
	components map[string]map[string]json.RawMessage // by section and name
	security   json.RawMessage                       // "" is none
	servers    []string                              // of the document; the root when it names none
	serversErr error                                 // why they cannot be read

	mu      sync.Mutex
	found   map[string]json.RawMessage // by reference; nil is nothing
	work    int                        // bytes that references led to
	schemes map[string]*heldScheme     // by name; nil is none that can be used
	// What was read of lists, by their text.
	securities map[string]*securityList
	lists      map[string]*serverList
	shared     [][]oauth.Scheme // the alternatives of security
}

// JSON is the text of the document.
func (d *Document) JSON() json.RawMessage { return d.text }

// Place identifies an operation.
type Place struct {
	// Path is the template, and Method in capitals.
	Path, Method string

	text   json.RawMessage // the Operation Object
	common json.RawMessage // parameters of the path
	near   json.RawMessage // servers of the path
}

// String returns method and path, as messages have them.
func (p Place) String() string { return text.Short(text.Line(p.Method+" "+p.Path), maxShown) }

// maxShown limits how much of a stranger's text a message repeats, in bytes.
const maxShown = 200

// member is one of an object: its name, and its value as it is written.
type member struct {
	name string
	text json.RawMessage
}

// members returns the members of an object in their order, duplicates included.
func members(text json.RawMessage) (all []member, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	first, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if first.Kind() != '{' {
		return nil, errNoObject
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if len(all) == maxMembers {
			return nil, fmt.Errorf("it has more than %d members", maxMembers)
		}
		end := dec.InputOffset()
		all = append(all, member{key, text[end-int64(len(value)) : end : end]})
	}
	_, err = dec.ReadToken()
	return all, err
}

// methods maps the members of a Path Item Object to the methods of operations.
var methods = map[string]string{"get": "GET", "put": "PUT", "post": "POST", "delete": "DELETE", "options": "OPTIONS",
	"head": "HEAD", "patch": "PATCH", "trace": "TRACE", "query": "QUERY"}

// ReadDocument reads a document of OpenAPI 3.0, 3.1 or 3.2, in JSON. An error says what is wrong
// with it, and is fit for who wrote it.
func ReadDocument(text []byte) (*Document, error) {
	if len(text) > maxDocument {
		return nil, fmt.Errorf("the document has more than %d MiB", maxDocument>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	top, err := members(text)
	if err != nil {
		return nil, notJSON(text)
	}
	d := &Document{text: text, top: map[string]json.RawMessage{}, components: map[string]map[string]json.RawMessage{},
		paths: map[string]json.RawMessage{}, found: map[string]json.RawMessage{}}
	var version string
	var paths json.RawMessage
	for _, m := range top {
		d.top[m.name] = m.text
		switch m.name {
		case "openapi":
			version = versionOf(m.text)
		case "swagger":
			return nil, errors.New("the document is of Swagger 2: OpenAPI 3.0 or later is needed")
		case "info":
			d.readInfo(m.text)
		case "x-llm":
			if err := d.readRoot(m.text); err != nil {
				return nil, err
			}
		case "security":
			d.security = m.text
		case "servers":
			var wrong []string
			d.servers, wrong, d.serversErr = readServers(m.text)
			for _, w := range wrong {
				d.note("servers", w)
			}
		case "components":
			d.readComponents(m.text)
		case "paths":
			paths = m.text
		}
	}
	if paths != nil { // which may refer to components
		d.readPaths(paths)
	}
	switch {
	case version == "":
		return nil, errors.New(`the document has no "openapi", such as "3.1.0": it is not an OpenAPI document`)
	case !strings.HasPrefix(version, "3."):
		return nil, fmt.Errorf("the document is of OpenAPI %.20q: 3.0, 3.1 and 3.2 are known", version)
	}
	d.old = strings.HasPrefix(version, "3.0")
	if len(d.servers) == 0 {
		d.servers = []string{"/"}
	}
	var wrong []string
	d.shared, wrong = d.alternativesOf(d.security)
	for _, w := range wrong {
		d.note("security", w)
	}
	return d, nil
}

func (d *Document) readInfo(text json.RawMessage) {
	var info struct{ Title, Version string }
	wrong, err := take(text, &info)
	if err != nil {
		wrong = []string{err.Error()}
	}
	for _, w := range wrong {
		d.note("info", w)
	}
	d.Title, d.Version = info.Title, info.Version
}

// readRoot reads x-llm of the root. Where its approval cannot be read, each call needs one.
func (d *Document) readRoot(text json.RawMessage) error {
	var r Root
	wrong, err := take(text, &r)
	if err == nil {
		d.Root = &r
	} else {
		wrong = []string{"it must be an object with version and name"}
	}
	for _, w := range wrong {
		d.note("x-llm", w)
	}
	if r.Version != "" && r.Version != "0" && !strings.HasPrefix(r.Version, "0.") {
		return fmt.Errorf("/x-llm/version: version %.20q is not known here: 0.1 is", r.Version)
	}
	if a := r.DefaultApproval; a != Auto && a != PerCall && a != "" {
		d.note("x-llm", fmt.Sprintf("defaultApproval %.20q is neither auto nor per-call: it is taken for per-call", a))
	}
	if r.DefaultApproval != Auto {
		r.DefaultApproval = PerCall
	}
	return nil
}

func (d *Document) readComponents(text json.RawMessage) {
	sections, err := members(text)
	if err != nil {
		d.note("components", err.Error())
	}
	for _, s := range sections {
		if strings.HasPrefix(s.name, "x-") {
			continue
		}
		all, err := members(s.text)
		if err != nil {
			d.note("components/"+s.name, err.Error())
			continue
		}
		held := make(map[string]json.RawMessage, len(all))
		for _, m := range all {
			held[m.name] = m.text
		}
		d.components[s.name] = held
	}
}

func (d *Document) readPaths(text json.RawMessage) {
	paths, err := members(text)
	if err != nil {
		d.note("paths", err.Error())
	}
	for _, p := range paths { // some refer to others
		d.paths[p.name] = p.text
	}
	for _, p := range paths {
		if strings.HasPrefix(p.name, "x-") {
			continue // an extension
		}
		items, err := d.pathItem(p.text)
		switch {
		case !strings.HasPrefix(p.name, "/"):
			d.note(p.name, `a path must begin with "/": its operations are left out`)
			continue
		case err != nil:
			d.note(p.name, err.Error()+": it has no operations")
			continue
		}
		d.readPath(p.name, items)
	}
}

// find returns what a reference within the document leads to. Others are not followed: their
// documents are somebody else's.
func (d *Document) find(ref string) (json.RawMessage, bool) {
	fragment, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at, known := d.found[ref]
	if !known {
		at = d.lookUp(pointer(fragment))
		d.found[ref] = at
	}
	d.work += len(at)
	return at, at != nil && d.work <= maxWork
}

// errTooMuch is the error of references that make more of a document than it is.
var errTooMuch = errors.New("the references of the document lead to too much")

// spend counts bytes that are read again.
func (d *Document) spend(n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.work += n
	return d.work <= maxWork
}

// pointer are the steps of a JSON pointer in a URI (RFC 6901, section 6).
func pointer(fragment string) []string {
	tokens := strings.Split(fragment, "/")
	for i, t := range tokens {
		if plain, err := url.PathUnescape(t); err == nil {
			t = plain
		}
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens
}

// lookUp returns what is there, or nil. Only components and paths are looked into however large
// they are.
func (d *Document) lookUp(tokens []string) json.RawMessage {
	at, rest := d.top[tokens[0]], tokens[1:]
	switch {
	case len(tokens) >= 3 && tokens[0] == "components":
		at, rest = d.components[tokens[1]][tokens[2]], tokens[3:]
	case len(tokens) >= 2 && tokens[0] == "paths":
		at, rest = d.paths[tokens[1]], tokens[2:]
	}
	for _, t := range rest {
		if d.work += len(at); len(at) > maxPart || d.work > maxWork {
			return nil
		}
		var ok bool
		if at, ok = step(at, t); !ok {
			return nil
		}
	}
	return at
}

// step returns the member or element of a value.
func step(text json.RawMessage, token string) (json.RawMessage, bool) {
	if all, err := members(text); err == nil {
		for _, m := range all {
			if m.name == token {
				return m.text, true
			}
		}
		return nil, false
	}
	var list []json.RawMessage
	var i int
	if _, err := fmt.Sscanf(token, "%d", &i); err != nil || json.Unmarshal(text, &list) != nil || i < 0 || i >= len(list) {
		return nil, false
	}
	return list[i], true
}

// maxHops limits how many references lead from one to the next.
const maxHops = 10

// resolved follows the references that an object of the document is.
func (d *Document) resolved(text json.RawMessage) (json.RawMessage, error) {
	for range maxHops {
		if len(text) > maxPart {
			return nil, fmt.Errorf("it has more than %d MiB", maxPart>>20)
		}
		var r struct {
			Ref *string `json:"$ref"`
		}
		wrong, err := take(text, &r)
		switch all, _ := members(text); {
		case err != nil:
			return nil, err
		case len(wrong) > 0 && len(all) == 1:
			return nil, errors.New(wrong[0])
		case r.Ref == nil:
			return text, nil
		}
		to, ok := d.find(*r.Ref)
		if !ok && to != nil {
			return nil, errTooMuch
		}
		if !ok {
			return nil, fmt.Errorf("the reference %.100q leads nowhere in the document", *r.Ref)
		}
		text = to
	}
	return nil, errors.New("its references form a cycle")
}
