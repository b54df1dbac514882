package pageconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"
)

// fullSettings have every field, and secrets that begin with "s3cret".
func fullSettings() Settings {
	return Settings{
		Headers:      map[string]Secret{"X-Key": "s3cret-h"},
		Cookies:      []Cookie{{Name: "sid", Value: "s3cret-c", Path: "/", Secure: true, HTTPOnly: true, SameSite: "Lax", Expires: 4e9}},
		LocalStorage: map[string]Secret{"token": "s3cret-l"},
		BasicAuth:    &BasicAuth{User: "carl", Password: "s3cret-p"},
		Viewport:     &Viewport{Width: 800, Height: 600, DeviceScaleFactor: 2},
		Locale:       "de-CH", Timezone: "Europe/Zurich",
		Geolocation: &Geolocation{Latitude: 47, Longitude: 8, Accuracy: 10},
		ColorScheme: "dark", UserAgent: "agent/1",
		Login: &Stored{
			Cookies:      []Cookie{{Name: "old", Value: "s3cret-s", Domain: ".shop.example", Path: "/"}},
			LocalStorage: map[string]Secret{"kept": "s3cret-k"},
		},
	}
}

const shopOrigin = "https://www.shop.example"

// TestSettingsHideSecrets prints settings in every way that code could.
func TestSettingsHideSecrets(t *testing.T) {
	s := fullSettings()
	bearer := Settings{Bearer: "s3cret-b"}
	if _, err := s.Check(shopOrigin); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		log := slog.New(h)
		log.Info("a", "settings", s, "options", Config{s}, "bearer", bearer, "auth", s.BasicAuth, "cookies", s.Cookies, "headers", s.Headers)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{s, &s, bearer, Config{s}, *s.BasicAuth, s.Cookies, s.Headers, bearer.Bearer} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	text, err := json.Marshal([]any{s, Config{bearer}})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	got := out.String()
	for _, secret := range []string{"s3cret", "7333637265742d", "115 51 99"} {
		if i := strings.Index(got, secret); i >= 0 {
			t.Errorf("%s is printed: %s", secret, got[max(0, i-100):i+20])
		}
	}
	if !strings.Contains(got, "locale=de-CH") || !strings.Contains(got, "bearer") {
		t.Error("what is no secret is not printed")
	}
	if fmt.Sprint(string(s.Headers["X-Key"])) != "s3cret-h" {
		t.Error("the value is lost")
	}
}

// TestSettingsDigest: every field counts, and equal settings are equal.
func TestSettingsDigest(t *testing.T) {
	if a, b := fullSettings().Digest(), fullSettings().Digest(); a != b {
		t.Error("equal settings have two digests")
	}
	seen := map[string]string{Settings{}.Digest(): "none"}
	full := fullSettings()
	full.Bearer = "b"
	var visit func(v reflect.Value, path string, of *Settings)
	visit = func(v reflect.Value, path string, of *Settings) {
		for i := range v.NumField() {
			f, name := v.Field(i), path+v.Type().Field(i).Name
			kept := reflect.New(f.Type()).Elem()
			kept.Set(f)
			switch {
			case f.Kind() == reflect.Pointer:
				visit(f.Elem(), name+".", of)
				f.SetZero()
			case f.Kind() == reflect.Bool:
				f.SetBool(!f.Bool())
			case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
				visit(f.Index(0), name+".", of)
				f.SetZero()
			default:
				f.SetZero()
			}
			d := of.Digest()
			if other, twice := seen[d]; twice && !kept.IsZero() {
				t.Errorf("without %s the digest is that without %s", name, other)
			}
			seen[d] = name
			if f.Set(kept); !kept.IsZero() && of.Digest() == d {
				t.Errorf("%s does not count", name)
			}
		}
	}
	visit(reflect.ValueOf(&full).Elem(), "", &full)
	if len(seen) < 25 {
		t.Errorf("only %d fields were looked at", len(seen))
	}
	if !(Settings{}).IsZero() || full.IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestSettingsCheck(t *testing.T) {
	head := func(name, value string) Settings {
		return Settings{Headers: map[string]Secret{name: Secret(value)}}
	}
	cookie := func(c Cookie) Settings { return Settings{Cookies: []Cookie{c}} }
	for _, ok := range []Settings{
		{}, head("X-A", "a\tb"), head("x-a", strings.Repeat("v", 8<<10)), head("Authorization", "Basic x"),
		cookie(Cookie{Name: "a", Domain: "WWW.shop.example"}), cookie(Cookie{Name: "a", SameSite: "None", Secure: true, Expires: -1}),
		{Bearer: "a-Z0.9_~+/=="}, {BasicAuth: &BasicAuth{}}, {Locale: "zh-Hant-TW"},
		{Timezone: "America/Argentina/Buenos_Aires"}, {Timezone: "UTC"}, {Timezone: "Etc/GMT+3"},
		{UserAgent: windowsAgent},
	} {
		if _, err := ok.Check(shopOrigin); err != nil {
			t.Errorf("%v: %v", ok, err)
		}
	}
	bad := map[string]Settings{
		"x-a is given twice": {Headers: map[string]Secret{"X-A": "1", "x-a": "2"}}, "line break": head("X-A", "a\r\nb"), "as a line break": head("X-A", "a\x00b"),
		"8192": head("x", strings.Repeat("v", 8<<10+1)), "not that of a header": head("X A", ""),
		"given by bearer": {Headers: map[string]Secret{"authorization": "x"}, Bearer: "y"}, "one of them": {Bearer: "y", BasicAuth: &BasicAuth{}},
		"host, which is www.shop.example": cookie(Cookie{Name: "a", Domain: ".shop.example"}), "cookie 1: the name": cookie(Cookie{Name: "a b"}),
		"semicolon": cookie(Cookie{Name: "a", Value: "b;c"}), "needs secure": cookie(Cookie{Name: "a", SameSite: "None"}), "not Strict": cookie(Cookie{Name: "a", SameSite: "lax"}),
		"begin with /": cookie(Cookie{Name: "a", Path: "x"}), "4096": cookie(Cookie{Name: "a", Value: Secret(strings.Repeat("v", 4096))}), "since 1970": cookie(Cookie{Name: "a", Expires: math.NaN()}),
		"language tag": {Locale: "de_CH,en"}, "time zone": {Timezone: "../etc/passwd"},
		"header, such": {UserAgent: "a\r\nb"}, "colon": {BasicAuth: &BasicAuth{User: "a:b"}},
		"bearer token": {Bearer: "a b"}, "larger than": {LocalStorage: map[string]Secret{"a": Secret(strings.Repeat("v", 5<<20))}},
	}
	for says, s := range bad {
		if _, err := s.Check(shopOrigin); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: it says %v, not %q", s, err, says)
		}
	}
	for _, name := range strings.Fields(`Host Content-Length Content-Type Cookie Set-Cookie Connection Keep-Alive TE Trailer Transfer-Encoding Upgrade Origin Referer
		Proxy-Authorization proxy-x Sec-Fetch-Site SEC-CH-UA User-Agent Accept-Language Access-Control-Request-Method`) {
		if _, err := head(name, "v").Check(shopOrigin); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, origin := range []string{"", "shop.example", "ftp://shop.example", "https://u:p@shop.example", "https://shop.example/x", "https://", "null"} {
		if _, err := (Settings{Locale: "de"}).Check(origin); err == nil {
			t.Errorf("settings of %q are none", origin)
		}
	}
}

const windowsAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"

// TestStored: of a stored login only what is the site's counts, and what the call
// gives takes its place.
func TestStored(t *testing.T) {
	state := `{"cookies":[
		{"name":"own","value":"1","domain":"www.shop.example","path":"/","expires":-1,"httpOnly":true,"secure":true,"sameSite":"Lax"},
		{"name":"above","value":"2","domain":".shop.example","path":"/"},
		{"name":"beside","value":"3","domain":"login.shop.example","path":"/"}, {"name":"hostOnly","value":"4","domain":"shop.example","path":"/"},
		{"name":"like","value":"5","domain":".hop.example","path":"/"}, {"name":"chips","value":"6","domain":"www.shop.example","partitionKey":{"topLevelSite":"https://a.example"}}],
		"origins":[{"origin":"https://www.shop.example","localStorage":[{"name":"a","value":"1"},{"name":"b","value":"2"}]},
		{"origin":"http://www.shop.example","localStorage":[{"name":"c","value":"3"}]}]}`
	login, err := ParseStored(json.RawMessage(state), shopOrigin)
	if err != nil {
		t.Fatal(err)
	}
	config, err := Settings{Login: login, LocalStorage: map[string]Secret{"b": "new"}, Cookies: []Cookie{{Name: "more"}}}.Check(shopOrigin)
	if err != nil {
		t.Fatal(err)
	}
	got := config.Stored()
	names := ""
	for _, c := range got.Cookies {
		names += c.Name + " "
	}
	if names != "own above more " || len(got.LocalStorage) != 2 || got.LocalStorage["b"] != "new" || got.Cookies[0].Value != "1" {
		t.Errorf("there are %s and %d items", names, len(got.LocalStorage))
	}
	text, err := got.Encode(shopOrigin)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseStored(text, shopOrigin)
	if err != nil || len(again.Cookies) != 3 || !reflect.DeepEqual(again.LocalStorage, got.LocalStorage) || again.Cookies[0] != got.Cookies[0] {
		t.Errorf("it does not come back: %d, %v", len(again.Cookies), err)
	}
	for _, x := range []struct {
		origin, domain string
		want           bool
	}{
		{"https://a.example", "a.example", true}, {"https://b.a.example", "a.example", false}, {"https://b.a.example", ".a.example", true}, {"https://a.example", ".a.example", true},
		{"https://ba.example", ".a.example", false}, {"http://127.0.0.1:80", ".0.0.1", false}, {"http://127.0.0.1", "127.0.0.1", true}, {"https://a.example", "", false},
	} {
		if got := Gets(x.origin, x.domain); got != x.want {
			t.Errorf("%s gets cookies of %q: %v", x.origin, x.domain, got)
		}
	}
}

// TestParseStored: what is not a login of the site is refused, and not shown.
func TestParseStored(t *testing.T) {
	const origin = "https://shop.test"
	for _, text := range []string{"", "{}", "[]", "null", `"s3cret"`, `{"s3cret":1}`, `{"cookies":"s3cret"}`, `{"cookies":[]} s3cret`, "s3cret",
		`{"cookies":[{"name":"a","value":"s3cret","domain":"other.test"}]}`, `{"cookies":[{"name":"a","value":"s3cret;","domain":"shop.test"}]}`,
		`{"origins":[{"origin":"https://other.test","localStorage":[{"name":"a","value":"s3cret"}]}]}`} {
		_, err := ParseStored(json.RawMessage(text), origin)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`{"cookies":[{"name":"sid","value":"x","domain":"shop.test","path":"/"}],"origins":[]}`, `{"cookies":[],"origins":[]}`, `{"origins":[]}`} {
		if _, err := ParseStored(json.RawMessage(text), origin); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
