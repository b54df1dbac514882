package opentools

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
)

// request holds the parts of a call's request.
type request struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte // nil is none
}

// request makes the request of a call. The arguments fit the tool's schema. An error says which of
// them cannot be sent, and why: nothing was sent then.
func (t *Tool) request(server *url.URL, args schema.Value) (*request, error) {
	r := &request{method: t.Method, header: http.Header{}}
	if t.accept != "" {
		r.header.Set("Accept", t.accept)
	}
	path := t.Path
	var query, cookies []pair
	for i := range t.parameters {
		p := &t.parameters[i]
		v := args.Get(p.Argument)
		if !v.Exists() || v.IsNull() {
			if p.In == "path" {
				return nil, fmt.Errorf("%s must not be null: it is a part of the path", p.Argument)
			}
			continue
		}
		switch p.In {
		case "path":
			s, err := p.inPath(v)
			if err != nil {
				return nil, err
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", s)
		case "query":
			query = append(query, p.inQuery(v)...)
		case "header":
			s, err := p.inHeader(v)
			if err != nil {
				return nil, err
			}
			r.header.Set(p.Name, s)
		case "cookie":
			cookies = append(cookies, p.inCookie(v)...)
		}
	}
	if len(cookies) > 0 {
		r.header.Set("Cookie", joinPairs(cookies, "; "))
	}
	address := *server
	address.Fragment = ""
	raw := strings.TrimSuffix(server.EscapedPath(), "/") + path
	plain, err := url.PathUnescape(raw)
	if err != nil {
		return nil, fmt.Errorf("the path %.200q is not a path", raw)
	}
	address.Path, address.RawPath, address.RawQuery = plain, raw, joinPairs(query, "&")
	r.url = &address
	if t.body != nil {
		err = t.write(r, args)
	}
	return r, err
}

func (t *Tool) write(r *request, args schema.Value) error {
	whole, parts := args.Get(t.body.Whole), t.members(args)
	if t.body.Whole != "" && !whole.Exists() || t.body.Whole == "" && len(parts) == 0 && !t.body.Required {
		return nil
	}
	for _, name := range t.body.Needs {
		if len(parts) > 0 && !args.Get(name).Exists() {
			return fmt.Errorf("%.100q is missing: %.100q is a part of what needs it", name, parts[0].name)
		}
	}
	media := t.body.Media
	r.header.Set("Content-Type", media)
	kind, _, _ := mime.ParseMediaType(media) // which was read before
	switch {
	case kind == "application/x-www-form-urlencoded":
		r.body = t.form(whole, parts)
	case kind == "multipart/form-data":
		return t.multipart(r, whole, parts)
	case t.body.Bytes:
		data, err := base64.StdEncoding.DecodeString(whole.String())
		if err != nil {
			return fmt.Errorf("%s must be base64: the body is bytes", t.body.Whole)
		}
		r.body = data
	case strings.HasPrefix(kind, "text/"):
		r.body = []byte(textOf(whole))
	case t.body.Whole != "":
		r.body = whole.Text()
	default:
		r.body = []byte{'{'}
		for i, m := range parts {
			if i > 0 {
				r.body = append(r.body, ',')
			}
			r.body = append(append(schema.AppendString(r.body, m.name), ':'), m.value.Text()...)
		}
		r.body = append(r.body, '}')
	}
	if r.body == nil {
		r.body = []byte{}
	}
	return nil
}

type argument struct {
	name  string
	value schema.Value
}

// members are the arguments that are members of the body.
func (t *Tool) members(args schema.Value) (all []argument) {
	if t.body.Whole != "" {
		return nil
	}
	for name, v := range args.Members() {
		elsewhere := slices.ContainsFunc(t.parameters, func(p parameter) bool { return p.Argument == name })
		if slices.Contains(t.body.Names, name) || t.body.Open && !elsewhere {
			all = append(all, argument{name, v})
		}
	}
	return all
}

// form writes a form. Lists repeat their name, unless its encoding says otherwise; what has parts
// of its own is name[part]=….
func (t *Tool) form(whole schema.Value, parts []argument) []byte {
	for name, v := range whole.Members() {
		parts = append(parts, argument{name, v})
	}
	var pairs []pair
	for _, m := range parts {
		p := parameter{Name: m.name, In: "query", Argument: m.name}
		if e, ok := t.body.Encoding[m.name]; ok {
			p.Style, p.Explode = e.Style, e.Explode
		}
		nested := m.value.IsObject()
		for item := range m.value.Elements() {
			nested = nested || !isScalar(item)
		}
		switch {
		case m.value.IsNull():
		case nested && p.Style == "":
			pairs = append(pairs, deep(unreserved.escape(m.name), m.value, unreserved.escape)...)
		default:
			pairs = append(pairs, p.inQuery(m.value)...)
		}
	}
	return []byte(joinPairs(pairs, "&"))
}

// multipart writes a body of parts. A file is {filename, mediaType, base64} or {filename,
// mediaType, text}; other objects are JSON, and lists repeat their name.
func (t *Tool) multipart(r *request, whole schema.Value, parts []argument) error {
	for name, v := range whole.Members() {
		parts = append(parts, argument{name, v})
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, m := range parts {
		values := []schema.Value{m.value}
		if m.value.IsArray() {
			values = slices.Collect(m.value.Elements())
		}
		for _, v := range values {
			if v.IsNull() {
				continue
			}
			head, data, err := part(m.name, v, t.body.Encoding[m.name].media())
			if err != nil {
				return err
			}
			to, err := w.CreatePart(head)
			if err == nil {
				_, err = to.Write(data)
			}
			if err != nil { // into memory: cannot happen
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	r.header.Set("Content-Type", w.FormDataContentType())
	r.body = b.Bytes()
	return nil
}

// part is one of a multipart body, whose encoding has a media type, or "".
func part(name string, v schema.Value, media string) (head textproto.MIMEHeader, data []byte, err error) {
	clean := func(s string) string {
		return strings.NewReplacer("\\", "\\\\", `"`, "%22", "\r", "%0D", "\n", "%0A").Replace(s)
	}
	head = textproto.MIMEHeader{}
	head.Set("Content-Disposition", `form-data; name="`+clean(name)+`"`)
	encoded, text := v.Get("base64"), v.Get("text")
	switch {
	case encoded.IsString() || text.IsString():
		data = []byte(text.String())
		if encoded.IsString() {
			if data, err = base64.StdEncoding.DecodeString(encoded.String()); err != nil {
				return nil, nil, fmt.Errorf("%s.base64 must be base64", name)
			}
		}
		file := cmp.Or(v.Get("filename").String(), "file")
		head.Set("Content-Disposition", `form-data; name="`+clean(name)+`"; filename="`+clean(file)+`"`)
		given := v.Get("mediaType").String()
		if given == "" || strings.ContainsFunc(given, func(r rune) bool { return r < ' ' || r > '~' }) {
			given = cmp.Or(media, "application/octet-stream")
		}
		head.Set("Content-Type", given)
		return head, data, nil
	case isScalar(v):
		if media != "" {
			head.Set("Content-Type", media)
		}
		if kind, _, _ := mime.ParseMediaType(media); kind == "application/json" || strings.HasSuffix(kind, "+json") {
			return head, v.Text(), nil
		}
		return head, []byte(textOf(v)), nil
	}
	if kind, _, _ := mime.ParseMediaType(media); !strings.HasSuffix(kind, "+json") {
		media = "application/json" // objects are written so
	}
	head.Set("Content-Type", media)
	return head, v.Text(), nil
}
