package pageconfig

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Bounds of settings.
const (
	maxHeaderValue  = 8 << 10
	maxCookies      = 180
	maxCookie       = 4096    // name and value together, as browsers have it
	maxLocalStorage = 5 << 20 // what browsers keep per origin
)

// check returns an error that names the key of config that is wrong, and why. No error has
// a value that may be secret.
func (s Settings) check(site *url.URL) error {
	for _, c := range []struct {
		key   string
		check func() error
	}{
		{"headers", s.checkHeaders},
		{"cookies", func() error { return checkCookies(s.Cookies, site) }},
		{"localStorage", func() error { return checkItems(s.LocalStorage) }},
		{"basicAuth", s.checkBasicAuth},
		{"bearer", s.checkBearer},
		{"locale", s.checkLocale},
		{"timezone", s.checkTimezone},
		{"userAgent", s.checkUserAgent},
	} {
		if err := c.check(); err != nil {
			return fmt.Errorf("config.%s: %w", c.key, err)
		}
	}
	return nil
}

func siteURL(site string) (*url.URL, error) {
	known, ok := origin.Parse(site)
	if !ok {
		return nil, errors.New("config: the site has no origin that settings could belong to")
	}
	return url.Parse(known)
}

// maxHeaderName bounds the name of a header, in bytes.
const maxHeaderName = 256

var (
	token   = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") // RFC 9110, 5.6.2
	token68 = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)        // RFC 9110, 11.2
	// These take a millisecond, at the start of each command.
	language = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,8}$`) })
	zone     = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,31}){0,3}$`)
	})
)

// unsettable are headers that belong to the browser: those that the Fetch
// standard forbids to pages, and those that have a key of their own or describe a
// body that is not ours. The value says why.
var unsettable = map[string]string{
	"accept-charset": "", "accept-encoding": "", "access-control-request-headers": "", "access-control-request-method": "",
	"access-control-request-private-network": "", "connection": "", "cookie": "use cookies", "cookie2": "use cookies", "date": "", "dnt": "", "expect": "", "host": "",
	"keep-alive": "", "origin": "", "referer": "", "set-cookie": "use cookies", "te": "", "trailer": "", "transfer-encoding": "", "upgrade": "", "via": "",
	"accept-language": "use locale", "user-agent": "use userAgent",
	"content-length": "", "content-type": "", "content-encoding": "",
}

func (s Settings) checkHeaders() error {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if len(name) > maxHeaderName || !token.MatchString(name) {
			return errors.New("a name is not that of a header") // it is not shown: it could be a whole header
		}
		lower := strings.ToLower(name)
		why, no := unsettable[lower]
		switch {
		case seen[lower]:
			return fmt.Errorf("%s is given twice", name)
		case no && why != "":
			return fmt.Errorf("%s cannot be set here; %s", name, why)
		case no || strings.HasPrefix(lower, "proxy-") || strings.HasPrefix(lower, "sec-"):
			return fmt.Errorf("%s belongs to the browser", name)
		case lower == "authorization" && (s.Bearer != "" || s.BasicAuth != nil):
			return fmt.Errorf("%s is also given by bearer or basicAuth", name)
		case hasControls(string(s.Headers[name]), "\t"):
			return fmt.Errorf("the value of %s has control characters, such as a line break", name)
		case len(s.Headers[name]) > maxHeaderValue:
			return fmt.Errorf("the value of %s is longer than %d bytes", name, maxHeaderValue)
		}
		seen[lower] = true
	}
	return nil
}

// hasControls reports whether a text has control characters besides the allowed
// ones.
func hasControls(text, allowed string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return (r < ' ' || r == 0x7f) && !strings.ContainsRune(allowed, r)
	})
}

func checkCookies(all []Cookie, site *url.URL) error {
	for i, c := range all {
		if err := c.check(); err != nil {
			return fmt.Errorf("cookie %d: %w", i+1, err)
		}
		if c.Domain != "" && origin.Host(c.Domain) != site.Hostname() {
			return fmt.Errorf("cookie %d: the domain is not the site's host, which is %s", i+1, site.Hostname())
		}
	}
	return nil
}

func (c Cookie) check() error {
	switch {
	case c.Name == "" || hasControls(c.Name, "") || strings.ContainsAny(c.Name, "=; ,"):
		return errors.New("the name is not that of a cookie")
	case hasControls(string(c.Value), "") || strings.Contains(string(c.Value), ";"):
		return errors.New("the value has control characters or a semicolon")
	case len(c.Name)+len(c.Value) > maxCookie:
		return fmt.Errorf("name and value are longer than %d bytes", maxCookie)
	case c.Path != "" && (!strings.HasPrefix(c.Path, "/") || hasControls(c.Path, "") || strings.Contains(c.Path, ";")):
		return errors.New("the path does not begin with / or has control characters or a semicolon")
	case !slices.Contains([]string{"", "Strict", "Lax", "None"}, c.SameSite):
		return errors.New("sameSite is not Strict, Lax or None")
	case c.SameSite == "None" && !c.Secure:
		return errors.New("sameSite None needs secure, without which browsers refuse it")
	case math.IsNaN(c.Expires) || math.IsInf(c.Expires, 0) || c.Expires < 0 && c.Expires != -1:
		return errors.New("expires is not a time in seconds since 1970")
	}
	return nil
}

func checkItems(items map[string]Secret) error {
	size := 0
	for k, v := range items {
		size += len(k) + len(v)
	}
	if size > maxLocalStorage {
		return fmt.Errorf("it is larger than %d bytes", maxLocalStorage)
	}
	return nil
}

func (s Settings) checkBasicAuth() error {
	switch {
	case s.BasicAuth == nil:
		return nil
	case s.Bearer != "":
		return errors.New("bearer is given too, and a request has one of them")
	case strings.Contains(s.BasicAuth.User, ":"):
		return errors.New("the user has a colon") // RFC 7617, 2
	case hasControls(s.BasicAuth.User, "") || hasControls(string(s.BasicAuth.Password), ""):
		return errors.New("the user or the password has control characters")
	case len(s.BasicAuth.User)+len(s.BasicAuth.Password) > maxHeaderValue/2:
		return fmt.Errorf("it is longer than %d bytes", maxHeaderValue/2)
	}
	return nil
}

func (s Settings) checkBearer() error {
	switch {
	case s.Bearer == "":
		return nil
	case !token68.MatchString(string(s.Bearer)):
		return errors.New("it is not a bearer token: letters, digits and -._~+/ with = at the end") // RFC 6750, 2.1
	case len(s.Bearer) > maxHeaderValue:
		return fmt.Errorf("it is longer than %d bytes", maxHeaderValue)
	}
	return nil
}

func (s Settings) checkLocale() error {
	if s.Locale != "" && !language().MatchString(s.Locale) {
		return errors.New(`it is not a language tag, such as "de-DE"`)
	}
	return nil
}

// checkTimezone looks at the form only: which zones there are is known to the
// browser.
func (s Settings) checkTimezone() error {
	if s.Timezone != "" && !zone().MatchString(s.Timezone) {
		return errors.New(`it is not a time zone, such as "Europe/Berlin"`)
	}
	return nil
}

func (s Settings) checkUserAgent() error {
	outside := func(r rune) bool { return r < ' ' || r > '~' }
	if strings.ContainsFunc(s.UserAgent, outside) {
		return errors.New("it has characters that do not belong into a header, such as a line break")
	}
	return nil
}
