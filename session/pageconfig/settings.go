package pageconfig

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Settings hold the changes of a call's config to its page. The zero value
// changes nothing, and costs nothing. Settings must not be changed once they are in use.
// The members of the JSON are the keys of config.
//
// They last as long as the tab's browser context. A tab with settings belongs to
// the caller that set them: it is never a spare, and never becomes one.
//
// Credentials and headers go with requests that a document of the site's own
// origin makes to that origin, and with navigations to it; never with a request
// to another origin, and never with one that a document of another origin makes.
type Settings struct {
	// Headers are added to requests, in place of the page's own of that name.
	Headers map[string]Secret `json:"headers,omitempty"`
	// Cookies are there before the first request.
	Cookies []Cookie `json:"cookies,omitempty"`
	// LocalStorage is there before the first script of the page runs.
	LocalStorage map[string]Secret `json:"localStorage,omitempty"`
	// BasicAuth and Bearer are sent as the header Authorization, where the page
	// itself sends none. At most one of them is given.
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
	Bearer    Secret     `json:"bearer,omitempty"`
	// Viewport is the size of the page; nil means the browser's own.
	Viewport *Viewport `json:"viewport,omitempty"`
	// Locale is a BCP 47 language tag, such as "de-DE".
	Locale string `json:"locale,omitempty"`
	// Timezone is a name of the IANA database, such as "Europe/Berlin".
	Timezone string `json:"timezone,omitempty"`
	// Geolocation is the place that the site's origin sees; it may ask without a
	// person.
	Geolocation *Geolocation `json:"geolocation,omitempty"`
	// ColorScheme is the user's preference as a page sees it: light, dark or no-preference; empty
	// means the browser's own.
	ColorScheme string `json:"colorScheme,omitempty"`
	// UserAgent takes the place of the browser's own, in client hints too where
	// it names Chromium.
	UserAgent string `json:"userAgent,omitempty"`
	// Login is a login that was stored before. It is not a key of config: a caller
	// names a profile, and never sees it.
	Login *Stored `json:"-"`
}

// Secret is a value that is never printed, logged or encoded.
type Secret string

const redacted = "[redacted]"

// Format prints that there is a secret, under any verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String returns that there is a secret.
func (Secret) String() string { return redacted }

// LogValue returns that there is a secret.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns that there is a secret.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Cookie is a cookie of the site's host (RFC 6265bis).
type Cookie struct {
	Name  string `json:"name"`
	Value Secret `json:"value"`
	// Domain is the site's host, or empty: only that host gets the cookie. In a
	// Stored it may begin with a dot: hosts below it get the cookie too.
	Domain string `json:"domain,omitempty"`
	// Path says where the cookie is sent; empty means "/".
	Path     string `json:"path,omitempty"`
	Secure   bool   `json:"secure,omitempty"`
	HTTPOnly bool   `json:"httpOnly,omitempty"`
	// SameSite is Strict, Lax, None, or empty for the browser's default.
	SameSite string `json:"sameSite,omitempty"`
	// Expires is in seconds since 1970; 0 and -1 mean the end of the context.
	Expires float64 `json:"expires,omitempty"`
}

// BasicAuth is a user and password of HTTP's scheme Basic (RFC 7617).
type BasicAuth struct {
	User     string `json:"user"`
	Password Secret `json:"password"`
}

// Viewport is the size of a page.
type Viewport struct {
	// Width and Height are in CSS pixels.
	Width  int `json:"width"`
	Height int `json:"height"`
	// DeviceScaleFactor says how many pixels of the device are one of CSS; zero
	// means one.
	DeviceScaleFactor float64 `json:"deviceScaleFactor,omitempty"`
	// Mobile makes the page use its meta viewport, and touch take the place of
	// the mouse.
	Mobile bool `json:"mobile,omitempty"`
}

// Geolocation is a place on earth.
type Geolocation struct {
	// Latitude and Longitude are in degrees.
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	// Accuracy is in meters.
	Accuracy float64 `json:"accuracy,omitempty"`
}

// IsZero reports whether the settings change nothing.
func (s Settings) IsZero() bool {
	return !s.Storage() && len(s.Headers) == 0 && s.BasicAuth == nil && s.Bearer == "" &&
		s.Viewport == nil &&
		s.Locale == "" && s.Timezone == "" && s.ColorScheme == "" && s.UserAgent == ""
}

// Storage reports whether the settings put something into the browser context,
// where it outlives a page.
func (s Settings) Storage() bool {
	return len(s.Cookies) > 0 || len(s.LocalStorage) > 0 || s.Geolocation != nil || s.Login != nil
}

// String names what is set, without any secret.
func (s Settings) String() string {
	var parts []string
	count := func(key string, n int) {
		if n > 0 {
			parts = append(parts, key+"("+strconv.Itoa(n)+")")
		}
	}
	word := func(key string, set bool, value string) {
		if set {
			parts = append(parts, strings.TrimSuffix(key+"="+value, "="))
		}
	}
	count("headers", len(s.Headers))
	count("cookies", len(s.Cookies))
	count("localStorage", len(s.LocalStorage))
	word("basicAuth", s.BasicAuth != nil, "")
	word("bearer", s.Bearer != "", "")
	word("viewport", s.Viewport != nil, "")
	word("locale", s.Locale != "", s.Locale)
	word("timezone", s.Timezone != "", s.Timezone)
	word("geolocation", s.Geolocation != nil, "") // where somebody is concerns nobody
	word("colorScheme", s.ColorScheme != "", s.ColorScheme)
	word("userAgent", s.UserAgent != "", strconv.Quote(s.UserAgent))
	word("login", s.Login != nil, "")
	return "settings{" + strings.Join(parts, " ") + "}"
}

// Format prints String under any verb.
func (s Settings) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue is String.
func (s Settings) LogValue() slog.Value { return slog.StringValue(s.String()) }

// digestKey makes digests worthless outside of this process: a password in
// settings could be guessed by a plain one.
var digestKey = func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	return key
}()

// Digest is equal for equal settings, in one process. Settings are compared by
// it.
func (s Settings) Digest() string {
	d := digest{hmac.New(sha256.New, digestKey)}
	d.pairs(s.Headers)
	d.stored(s.Cookies, s.LocalStorage)
	d.given(s.Login != nil)
	if s.Login != nil {
		d.stored(s.Login.Cookies, s.Login.LocalStorage)
	}
	d.given(s.BasicAuth != nil)
	if s.BasicAuth != nil {
		d.text(s.BasicAuth.User, string(s.BasicAuth.Password))
	}
	d.text(string(s.Bearer))
	d.given(s.Viewport != nil)
	if v := s.Viewport; v != nil {
		d.numbers(float64(v.Width), float64(v.Height), v.DeviceScaleFactor)
		d.given(v.Mobile)
	}
	d.text(s.Locale, s.Timezone)
	d.given(s.Geolocation != nil)
	if g := s.Geolocation; g != nil {
		d.numbers(g.Latitude, g.Longitude, g.Accuracy)
	}
	d.text(s.ColorScheme, s.UserAgent)
	return hex.EncodeToString(d.Sum(nil))
}

// digest hashes values so that no two sequences are the same bytes.
type digest struct{ hash.Hash }

func (d digest) text(all ...string) {
	for _, s := range all {
		_, _ = io.WriteString(d, strconv.Itoa(len(s))+":"+s)
	}
}

func (d digest) given(yes bool) { d.text(strconv.FormatBool(yes)) }

func (d digest) numbers(all ...float64) {
	for _, f := range all {
		d.text(strconv.FormatUint(math.Float64bits(f), 16))
	}
}

func (d digest) stored(cookies []Cookie, items map[string]Secret) {
	d.text(strconv.Itoa(len(cookies)))
	for _, c := range cookies {
		d.text(c.Name, string(c.Value), c.Domain, c.Path, c.SameSite)
		d.given(c.Secure)
		d.given(c.HTTPOnly)
		d.numbers(c.Expires)
	}
	d.pairs(items)
}

func (d digest) pairs(all map[string]Secret) {
	d.text(strconv.Itoa(len(all)))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		d.text(k, string(all[k]))
	}
}
