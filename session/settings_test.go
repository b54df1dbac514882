package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/session"
)

// fullSettings have every field, and secrets that begin with "s3cret".
func fullSettings() session.Settings {
	return session.Settings{
		Headers:      map[string]session.Secret{"X-Key": "s3cret-h"},
		Cookies:      []session.Cookie{{Name: "sid", Value: "s3cret-c", Path: "/", Secure: true, HTTPOnly: true, SameSite: "Lax", Expires: 4e9}},
		LocalStorage: map[string]session.Secret{"token": "s3cret-l"},
		BasicAuth:    &session.BasicAuth{User: "carl", Password: "s3cret-p"},
		Viewport:     &session.Viewport{Width: 800, Height: 600, DeviceScaleFactor: 2},
		Locale:       "de-CH", Timezone: "Europe/Zurich",
		Geolocation: &session.Geolocation{Latitude: 47, Longitude: 8, Accuracy: 10},
		ColorScheme: session.Dark, UserAgent: "agent/1",
		StorageState: json.RawMessage(`{"cookies":[{"name":"old","value":"s3cret-s","domain":".shop.example","path":"/"}],"origins":[]}`),
	}
}

const shopOrigin = "https://www.shop.example"

// TestSettingsHideSecrets prints settings in every way that code could.
func TestSettingsHideSecrets(t *testing.T) {
	s := fullSettings()
	bearer := session.Settings{Bearer: "s3cret-b"}
	if err := s.Check(shopOrigin); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		log := slog.New(h)
		log.Info("a", "settings", s, "options", session.TabOptions{Origin: shopOrigin, Settings: s}, "bearer", bearer, "auth", s.BasicAuth, "cookies", s.Cookies, "headers", s.Headers)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{s, &s, bearer, session.TabOptions{Settings: s}, *s.BasicAuth, s.Cookies, s.Headers, bearer.Bearer} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	text, err := json.Marshal([]any{s, session.TabOptions{Settings: bearer}})
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
	seen := map[string]string{session.Settings{}.Digest(): "none"}
	full := fullSettings()
	full.Bearer = "b"
	var visit func(v reflect.Value, path string, of *session.Settings)
	visit = func(v reflect.Value, path string, of *session.Settings) {
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
	if !(session.Settings{}).IsZero() || full.IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestSettingsCheck(t *testing.T) {
	head := func(name, value string) session.Settings {
		return session.Settings{Headers: map[string]session.Secret{name: session.Secret(value)}}
	}
	cookie := func(c session.Cookie) session.Settings { return session.Settings{Cookies: []session.Cookie{c}} }
	many := session.Settings{Headers: map[string]session.Secret{}}
	for i := range 64 {
		many.Headers[fmt.Sprint("X-", i)] = "v"
	}
	place := func(lat, long, accuracy float64) session.Settings {
		return session.Settings{Geolocation: &session.Geolocation{Latitude: lat, Longitude: long, Accuracy: accuracy}}
	}
	for _, ok := range []session.Settings{
		{}, head("X-A", "a\tb"), head("x-a", strings.Repeat("v", 8<<10)), head("Authorization", "Basic x"), many,
		cookie(session.Cookie{Name: "a", Domain: "WWW.shop.example"}), cookie(session.Cookie{Name: "a", SameSite: "None", Secure: true, Expires: -1}),
		{Bearer: "a-Z0.9_~+/=="}, {BasicAuth: &session.BasicAuth{}}, {Viewport: &session.Viewport{Width: 10000, Height: 1}}, {Locale: "zh-Hant-TW"},
		{Timezone: "America/Argentina/Buenos_Aires"}, {Timezone: "UTC"}, {Timezone: "Etc/GMT+3"}, place(-90, 180, 0), {ColorScheme: session.NoPreference},
		{UserAgent: windowsAgent}, {StorageState: json.RawMessage(`{"cookies":[],"origins":[]}`)},
	} {
		if err := ok.Check(shopOrigin); err != nil {
			t.Errorf("%v: %v", ok, err)
		}
	}
	bad := map[string]session.Settings{
		"x-a is given twice": {Headers: map[string]session.Secret{"X-A": "1", "x-a": "2"}}, "line break": head("X-A", "a\r\nb"), "as a line break": head("X-A", "a\x00b"),
		"64": {Headers: map[string]session.Secret{"Y": "v"}}, "8192": head("x", strings.Repeat("v", 8<<10+1)), "not that of a header": head("X A", ""),
		"given by bearer": {Headers: map[string]session.Secret{"authorization": "x"}, Bearer: "y"}, "one of them": {Bearer: "y", BasicAuth: &session.BasicAuth{}},
		"host, which is www.shop.example": cookie(session.Cookie{Name: "a", Domain: ".shop.example"}), "cookie 1: the name": cookie(session.Cookie{Name: "a b"}),
		"semicolon": cookie(session.Cookie{Name: "a", Value: "b;c"}), "needs secure": cookie(session.Cookie{Name: "a", SameSite: "None"}), "not Strict": cookie(session.Cookie{Name: "a", SameSite: "lax"}),
		"begin with /": cookie(session.Cookie{Name: "a", Path: "x"}), "4096": cookie(session.Cookie{Name: "a", Value: session.Secret(strings.Repeat("v", 4096))}), "since 1970": cookie(session.Cookie{Name: "a", Expires: math.NaN()}),
		"from 1 to": {Viewport: &session.Viewport{Width: 10001, Height: 1}}, "deviceScaleFactor": {Viewport: &session.Viewport{Width: 1, Height: 1, DeviceScaleFactor: math.NaN()}},
		"language tag": {Locale: "de_CH,en"}, "time zone": {Timezone: "../etc/passwd"}, "latitude": place(math.NaN(), 0, 0), "longitude": place(0, 180.1, 0), "accuracy": place(0, 0, -1),
		"light, dark": {ColorScheme: "Light"}, "header, such": {UserAgent: "a\r\nb"}, "512": {UserAgent: strings.Repeat("a", 513)}, "colon": {BasicAuth: &session.BasicAuth{User: "a:b"}},
		"not a storage state": {StorageState: json.RawMessage(`[]`)}, "nothing for www.shop.example": {StorageState: json.RawMessage(`{"cookies":[{"name":"a","value":"b","domain":"evil.example"}]}`)},
		"bearer token": {Bearer: "a b"},
	}
	for name, v := range many.Headers {
		bad["64"].Headers[name] = v
	}
	for says, s := range bad {
		if err := s.Check(shopOrigin); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: it says %v, not %q", s, err, says)
		}
	}
	for _, name := range strings.Fields(`Host Content-Length Content-Type Cookie Set-Cookie Connection Keep-Alive TE Trailer Transfer-Encoding Upgrade Origin Referer
		Proxy-Authorization proxy-x Sec-Fetch-Site SEC-CH-UA User-Agent Accept-Language Access-Control-Request-Method`) {
		if err := head(name, "v").Check(shopOrigin); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, origin := range []string{"", "shop.example", "ftp://shop.example", "https://u:p@shop.example", "https://shop.example/x", "https://", "null"} {
		if err := (session.Settings{Locale: "de"}).Check(origin); err == nil {
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
	got, err := (session.Settings{StorageState: json.RawMessage(state), LocalStorage: map[string]session.Secret{"b": "new"}, Cookies: []session.Cookie{{Name: "more"}}}).Stored(shopOrigin)
	if err != nil {
		t.Fatal(err)
	}
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
	again, err := (session.Settings{StorageState: text}).Stored(shopOrigin)
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
		if got := session.Gets(x.origin, x.domain); got != x.want {
			t.Errorf("%s gets cookies of %q: %v", x.origin, x.domain, got)
		}
	}
}
