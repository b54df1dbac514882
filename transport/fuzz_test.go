package transport

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// FuzzSplit: a path that is known can be written down again, segment by
// segment, and read as the same.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"/", "/a/b/", "/a%2Fb", "//", "/a/../b", "/%00", "/%zz", "/é", "/%c3%a9", "a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		segments, known := split(path)
		if !known {
			return
		}
		var again strings.Builder
		for _, s := range segments {
			if s == "" || s == "." || s == ".." || strings.ContainsFunc(s, isControl) {
				t.Fatalf("%q has the segment %q", path, s)
			}
			again.WriteString("/" + url.PathEscape(s))
		}
		if len(segments) == 0 {
			return
		}
		twice, known := split(again.String())
		if !known || strings.Join(twice, "\x00") != strings.Join(segments, "\x00") {
			t.Fatalf("%q is %q, and %q is %q", path, segments, &again, twice)
		}
	})
}

// FuzzHost: a host that is accepted has no character that could end it in a
// URL.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{"a", "a:1", "[::1]:80", "a@b", "a/b", "a:", ":1", "[a", "a:99999", "A.b-c_d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, ok := parseHost(s)
		if !ok {
			return
		}
		u, err := url.Parse("http://" + s + "/x")
		if h.name == "" || strings.ContainsAny(s, "/@?#\\ \r\n\x00,%") || err == nil && u.Path != "/x" {
			t.Fatalf("%q is %+v", s, h)
		}
	})
}

// FuzzJSONReply: what replaces a reply is one whole reply.
func FuzzJSONReply(f *testing.F) {
	f.Add([]byte("HTTP/1.1 400 Bad Request" + string(builtinHead) + "400 Bad Request"))
	f.Add([]byte("HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 4xx" + string(builtinHead)))
	f.Fuzz(func(t *testing.T, p []byte) {
		reply := jsonReply(p)
		if reply == nil {
			return
		}
		head, body, ok := bytes.Cut(reply, []byte("\r\n\r\n"))
		if !ok || !json.Valid(body) || !bytes.Contains(head, []byte("Content-Type: application/json\r\n")) {
			t.Fatalf("%q became %q", p, reply)
		}
	})
}
