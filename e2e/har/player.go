package har

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"sync"
)

// Player answers requests from a recording. Several entries for one request are used in their
// order, and the last one again and again. It is safe for concurrent use.
type Player struct {
	own, shared, all group

	mu   sync.Mutex
	used map[string]int // by request
}

type group map[string][]*Entry

func (g group) add(key string, e *Entry) { g[key] = append(g[key], e) }

// Player returns what answers the requests of a test with that name. The file must not change
// meanwhile.
func (f *File) Player(title string) *Player {
	p := &Player{own: group{}, shared: group{}, all: group{}, used: map[string]int{}}
	titles := map[string]string{}
	for _, page := range f.Log.Pages {
		titles[page.ID] = page.Title
	}
	for i := range f.Log.Entries {
		e := &f.Log.Entries[i]
		key := keyOf(e.Request.Method, e.Request.URL, value(e.Request.Headers, "Content-Type"),
			e.Request.Body())
		p.all.add(key, e)
		switch {
		case e.Page == "":
			p.shared.add(key, e)
		case titles[e.Page] == title:
			p.own.add(key, e)
		}
	}
	return p
}

// Next returns the entry for a request: one with its method, its address without the fragment, and
// its body. It returns nil when there is none.
func (p *Player) Next(method, address string, header http.Header, body []byte) *Entry {
	key := keyOf(method, address, header.Get("Content-Type"), body)
	entries := p.own[key]
	if entries == nil {
		entries = p.shared[key]
	}
	if entries == nil {
		entries = p.all[key]
	}
	if entries == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(p.used[key], len(entries)-1)
	p.used[key] = n + 1
	return entries[n]
}

// keyOf tells requests apart. The boundary of a form is another one each time.
func keyOf(method, address, contentType string, body []byte) string {
	address, _, _ = strings.Cut(address, "#")
	if kind, params, err := mime.ParseMediaType(contentType); err == nil &&
		kind == "multipart/form-data" && params["boundary"] != "" {
		body = bytes.ReplaceAll(body, []byte(params["boundary"]), []byte("boundary"))
	}
	return strings.ToUpper(method) + " " + address + "\n" + string(body)
}

func value(all []Pair, name string) string {
	for _, h := range all {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// unplayed are headers that were about the connection, or about an encoding that was undone.
var unplayed = map[string]bool{"Content-Encoding": true, "Content-Length": true,
	"Transfer-Encoding": true, "Connection": true, "Keep-Alive": true, "Set-Cookie": true}

// Answer returns the headers of an entry's response for a request of an origin, "" where the
// request names none. A page that is served elsewhere than at the time of the recording may read
// what it could read then.
func (e *Entry) Answer(origin string) http.Header {
	h := http.Header{}
	for _, pair := range e.Response.Headers {
		name := http.CanonicalHeaderKey(pair.Name)
		switch {
		case strings.HasPrefix(name, ":") || unplayed[name]:
			continue
		case name == "Access-Control-Allow-Origin" && origin != "" &&
			pair.Value == value(e.Request.Headers, "Origin"):
			pair.Value = origin
		}
		h.Add(name, pair.Value)
	}
	return h
}
