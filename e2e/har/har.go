package har

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a file may be.
const (
	MaxFile    = 256 << 20 // bytes
	MaxEntries = 100_000
)

// File is a recording. Members of HAR that are not here are not read, and not written.
type File struct {
	Log Log `json:"log"`
}

// Log is all of it.
type Log struct {
	Version string  `json:"version"`
	Creator Creator `json:"creator"`
	Pages   []Page  `json:"pages"`
	Entries []Entry `json:"entries"`
	Comment string  `json:"comment,omitempty"`
}

// Creator names the program that wrote the file.
type Creator struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Page groups entries.
type Page struct {
	Started string   `json:"startedDateTime"` // ISO 8601
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Timings struct{} `json:"pageTimings"`
}

// Entry is a request and its response.
type Entry struct {
	Page     string   `json:"pageref,omitempty"` // the ID of a page
	Started  string   `json:"startedDateTime"`
	Time     float64  `json:"time"` // ms
	Request  Request  `json:"request"`
	Response Response `json:"response"`
	Cache    struct{} `json:"cache"`
	Timings  Timings  `json:"timings"`
}

// Request is the recorded request.
type Request struct {
	Method      string `json:"method"`
	URL         string `json:"url"` // without a fragment
	HTTPVersion string `json:"httpVersion"`
	Cookies     []Pair `json:"cookies"`
	Headers     []Pair `json:"headers"`
	QueryString []Pair `json:"queryString"`
	Post        *Post  `json:"postData,omitempty"`
	HeadersSize int    `json:"headersSize"` // -1 is not known, as for all sizes
	BodySize    int    `json:"bodySize"`
}

// Pair is a name with a value.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Post is the body of a request.
type Post struct {
	MimeType string `json:"mimeType"`
	Text     string `json:"text"`
	// Encoding is "base64" for bodies that are not text. HAR has no member for that.
	Encoding string `json:"_encoding,omitempty"`
}

// Response is the recorded response. With a zero Status there was no response, and Failed says
// why.
type Response struct {
	Status      int     `json:"status"`
	StatusText  string  `json:"statusText"`
	HTTPVersion string  `json:"httpVersion"`
	Cookies     []Pair  `json:"cookies"`
	Headers     []Pair  `json:"headers"`
	Content     Content `json:"content"`
	RedirectURL string  `json:"redirectURL"`
	HeadersSize int     `json:"headersSize"`
	BodySize    int     `json:"bodySize"`
	Failed      string  `json:"_error,omitempty"`
}

// Content is the body of a response, its encodings undone.
type Content struct {
	Size     int64  `json:"size"`
	MimeType string `json:"mimeType"`
	Text     string `json:"text,omitempty"`
	Encoding string `json:"encoding,omitempty"` // "" or base64
	Comment  string `json:"comment,omitempty"`  // why the body was left out
}

// Timings are in milliseconds; only Wait is known.
type Timings struct {
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// Read reads a file. Unknown members are skipped, as HAR wants. An error says where in the JSON it
// is: a line with its column, or a JSON pointer.
func Read(text []byte) (*File, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("the recording has more than %d bytes: record fewer cases in one file",
			MaxFile)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // which some tools write
	var f struct {
		Log *struct {
			Log
			Entries *[]Entry `json:"entries"`
		} `json:"log"`
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, located(text, err)
	}
	if f.Log == nil || f.Log.Entries == nil {
		return nil, errors.New("/log/entries is missing: it is not a recording in the format HAR 1.2")
	}
	out := &File{f.Log.Log}
	out.Log.Entries = *f.Log.Entries
	if n := len(out.Log.Entries); n > MaxEntries {
		return nil, fmt.Errorf("/log/entries has %d entries, and the most is %d: record fewer cases in "+
			"one file", n, MaxEntries)
	}
	for i := range out.Log.Entries {
		if at, why := out.Log.Entries[i].wrong(); why != "" {
			return nil, fmt.Errorf("/log/entries/%d/%s: %s", i, at, why)
		}
	}
	return out, nil
}

// located says where in the text an error of JSON is.
func located(text []byte, err error) error {
	at := int64(-1)
	why := "it is not JSON"
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = syntax.Offset
		why += ": " + strings.TrimPrefix(syntax.Error(), "json: ")
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at, why = kind.Offset, fmt.Sprintf("invalid value for %s: it must not be of the kind %s",
			strings.ReplaceAll(kind.Field, ".", "/"), kind.Value)
	}
	if at < 0 {
		return err
	}
	before := text[:min(int(at), len(text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("line %d, column %d: %s", line, max(column, 1), why)
}

// wrong says what of an entry cannot be used, and where that is; "" is nothing.
func (e *Entry) wrong() (at, why string) {
	u, err := url.Parse(e.Request.URL)
	switch {
	case e.Request.Method == "":
		return "request/method", "it is missing"
	case err != nil || u.Scheme == "":
		return "request/url", fmt.Sprintf("invalid value %.100q: it must be an address", e.Request.URL)
	case e.Response.Status != 0 && (e.Response.Status < 100 || e.Response.Status > 599):
		return "response/status", fmt.Sprintf("invalid value %d: it must be a status of HTTP, or 0",
			e.Response.Status)
	}
	if _, err := decoded(e.Response.Content.Text, e.Response.Content.Encoding); err != nil {
		return "response/content", err.Error()
	}
	if p := e.Request.Post; p != nil {
		if _, err := decoded(p.Text, p.Encoding); err != nil {
			return "request/postData", err.Error()
		}
	}
	return "", ""
}

func decoded(text, encoding string) ([]byte, error) {
	switch encoding {
	case "":
		return []byte(text), nil
	case "base64":
		body, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, errors.New("its text is not base64, which its encoding says")
		}
		return body, nil
	}
	return nil, fmt.Errorf("invalid value %.100q for its encoding: it must be base64, or left out",
		encoding)
}

func encoded(body []byte) (text, encoding string) {
	if utf8.Valid(body) {
		return string(body), ""
	}
	return base64.StdEncoding.EncodeToString(body), "base64"
}

// SetBody sets the body of a request; an empty one is none.
func (r *Request) SetBody(body []byte, mimeType string) {
	r.Post, r.BodySize = nil, len(body)
	if len(body) > 0 {
		r.Post = &Post{MimeType: mimeType}
		r.Post.Text, r.Post.Encoding = encoded(body)
	}
}

// Body returns the request's body.
func (r *Request) Body() []byte {
	if r.Post == nil {
		return nil
	}
	body, _ := decoded(r.Post.Text, r.Post.Encoding) // Read has tried it
	return body
}

// SetBody sets the body of a response.
func (r *Response) SetBody(body []byte) {
	r.BodySize, r.Content.Size, r.Content.Comment = len(body), int64(len(body)), ""
	r.Content.Text, r.Content.Encoding = encoded(body)
}

// LeaveOut says why the body of a response is not there.
func (r *Response) LeaveOut(size int64, why string) {
	r.BodySize = -1
	r.Content.Size, r.Content.Text, r.Content.Encoding, r.Content.Comment = size, "", "", why
}

// Body returns the response's body; false when the recording lacks it.
func (r *Response) Body() ([]byte, bool) {
	if r.Content.Text == "" && (r.Content.Size > 0 || r.Content.Comment != "") {
		return nil, false
	}
	body, _ := decoded(r.Content.Text, r.Content.Encoding)
	return body, true
}

// Rewrite changes all texts of the entry that a site or a page wrote.
func (e *Entry) Rewrite(words func(string) string) {
	rewrite := func(headers []Pair) {
		for i := range headers {
			headers[i] = Pair{words(headers[i].Name), words(headers[i].Value)}
		}
	}
	in, out := &e.Request, &e.Response
	in.URL, out.RedirectURL = words(in.URL), words(out.RedirectURL)
	in.QueryString = Query(in.URL)
	rewrite(in.Headers)
	rewrite(out.Headers)
	out.StatusText = words(out.StatusText)
	if in.Post != nil {
		in.SetBody([]byte(words(string(in.Body()))), in.Post.MimeType)
	}
	if body, there := out.Body(); there {
		out.SetBody([]byte(words(string(body))))
	}
}

// secrets are headers that are left out of what we write.
var secrets = []string{"Authorization", "Cookie", "Proxy-Authorization", "Set-Cookie",
	"Set-Cookie2"}

// Headers lists headers in the order of their names, without those that hold logins: cookies,
// Authorization and Proxy-Authorization.
func Headers(h http.Header) []Pair {
	all := []Pair{}
	for name, values := range h {
		if slices.Contains(secrets, http.CanonicalHeaderKey(name)) {
			continue
		}
		for _, value := range values {
			all = append(all, Pair{name, value})
		}
	}
	slices.SortStableFunc(all, func(a, b Pair) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Query lists the parameters of an address, in their order.
func Query(address string) []Pair {
	all := []Pair{}
	u, err := url.Parse(address)
	if err != nil {
		return all
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		all = append(all, Pair{unescaped(name), unescaped(value)})
	}
	return all
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// Text returns the file, as Read reads it. The error says that it would be too long for that.
func (f *File) Text() ([]byte, error) {
	if f.Log.Pages == nil {
		f.Log.Pages = []Page{}
	}
	if f.Log.Entries == nil {
		f.Log.Entries = []Entry{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return nil, fmt.Errorf("writing the recording: %w", err)
	}
	if b.Len() > MaxFile {
		return nil, fmt.Errorf("the recording has more than %d bytes: record fewer cases in one file",
			MaxFile)
	}
	return b.Bytes(), nil
}
