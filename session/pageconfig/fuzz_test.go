package pageconfig

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// FuzzParseStored: a login that is taken is written down as one that is the same, and
// nothing of it belongs to another site.
func FuzzParseStored(f *testing.F) {
	f.Add([]byte(`{"cookies":[{"name":"a","value":"b","domain":".shop.test","path":"/x","expires":1.5,"secure":true,"sameSite":"None"}],"origins":[{"origin":"https://shop.test","localStorage":[{"name":"k","value":"v"}]}]}`), "https://shop.test")
	f.Add([]byte(`{"cookies":[{"name":"a","value":"b","domain":"SHOP.test","partitionKey":null}],"origins":[{"origin":"https://SHOP.test/"}]}`), "https://shop.test")
	f.Add([]byte(`{"origins":[]}`), "http://[::1]:80")
	f.Fuzz(func(t *testing.T, text []byte, origin string) {
		s, err := ParseStored(text, origin)
		if err != nil {
			return
		}
		for _, c := range s.Cookies {
			if !Gets(origin, c.Domain) {
				t.Errorf("%s got a cookie of %s", origin, c.Domain)
			}
		}
		written, err := s.Encode(origin)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseStored(written, origin)
		if err != nil || !IsStored(written) {
			t.Fatalf("%s\nbecame %s\nwhich is refused: %v", text, written, err)
		}
		for i, c := range s.Cookies { // what is not written is the site's own
			if c.Path == "" {
				s.Cookies[i].Path = "/"
			}
		}
		if !reflect.DeepEqual(s, again) {
			t.Errorf("%+v\nbecame %+v", s, again)
		}
	})
}

// FuzzConfig: a config that is taken opens a page of its own site, twice the same text is
// the same page, and no error or log shows a secret.
func FuzzConfig(f *testing.F) {
	f.Add(`{"path":"/a?b#c","locale":"de","headers":{"X-A":"s3cret"},"cookies":[{"name":"a","value":"s3cret"}]}`)
	f.Add(`{"path":"//evil.test/","bearer":"s3cret"}`)
	f.Add(`{"path":"\\\\evil.test","basicAuth":{"user":"u","password":"s3cret"},"viewport":{"width":1,"height":2}}`)
	f.Add(`{"profile":"","localStorage":{"k":"s3cret\u0000"},"userAgent":"a\nb"}`)
	f.Fuzz(func(t *testing.T, text string) {
		const site = "https://shop.test/start?x=1"
		r, err := Parse(text)
		if err != nil {
			return
		}
		if address, err := r.Address(site); err == nil {
			u, err := url.Parse(address)
			if err != nil || u.Scheme != "https" || u.Host != "shop.test" {
				t.Errorf("the path %q is %q (%v)", r.Path, address, err)
			}
		}
		c, err := r.Check("https://shop.test")
		if err != nil {
			if strings.Contains(err.Error(), "s3cret") && !strings.Contains(r.UserAgent+r.Timezone+r.Locale+namesIn(r), "s3cret") {
				t.Errorf("the error shows a secret: %v", err)
			}
			return
		}
		again, err := Parse(text)
		if err != nil || again.Digest() != r.Digest() || (c == nil) != r.IsZero() {
			t.Errorf("%s is %s, and %s again (%v)", text, r.Digest(), again.Digest(), err)
		}
	})
}

// namesIn are parts of settings that are not secret.
func namesIn(r Request) string {
	s := r.Settings
	for name := range s.Headers {
		s.Headers[name] = ""
	}
	text, _ := json.Marshal(s)
	return string(text)
}
