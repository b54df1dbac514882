package authserver_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestConsentIsBound (rule 7; CVE-2026-27124, GHSA-c2jp-c369-7pvx): an answer counts in the browser
// that began the request, from our own page, in time, and once. Attacks 1 to 20.
func TestConsentIsBound(t *testing.T) {
	w := newWorld(t)
	victim, attacker := w.browser(), w.browser()
	victim.code(w.query(nil)) // they are logged in
	login := victim.cookies["__Host-pagetools"]
	cookieOf := func(b *browser) (name string) {
		for name = range b.cookies {
			if strings.HasPrefix(name, "__Host-pagetools-request-") {
				return name
			}
		}
		t.Fatal("there is no cookie of a request")
		return ""
	}
	flip := func(s string, at int) string {
		c := byte('A')
		if s[at] == c {
			c = 'B'
		}
		return s[:at] + string(c) + s[at+1:]
	}
	begun := attacker.opens(w.query(nil))
	begunCookie := cookieOf(attacker)
	for name, attack := range map[string]func(b *browser, token string) reply{
		"1 a request that the attacker began": func(b *browser, _ string) reply { return b.answers(begun, "allow", nil) },
		"2 the same, with a cookie of another request under its name": func(b *browser, _ string) reply {
			b.cookies[begunCookie] = b.cookies[cookieOf(b)]
			return b.answers(begun, "allow", nil)
		},
		"3 without the cookie": func(b *browser, token string) reply {
			delete(b.cookies, cookieOf(b))
			return b.answers(token, "allow", nil)
		},
		"4 with another cookie": func(b *browser, token string) reply {
			name := cookieOf(b)
			b.cookies[name] = flip(b.cookies[name], 3)
			return b.answers(token, "allow", nil)
		},
		"5 from another origin": func(b *browser, token string) reply {
			b.origin = "https://evil.example"
			return b.answers(token, "allow", nil)
		},
		"6 from another host of this domain": func(b *browser, token string) reply {
			b.origin = "https://evil.tools.example"
			return b.answers(token, "allow", nil)
		},
		"7 from another port": func(b *browser, token string) reply {
			b.origin = public + ":8443"
			return b.answers(token, "allow", nil)
		},
		"8 from a page without an origin": func(b *browser, token string) reply {
			b.origin = "null"
			return b.answers(token, "allow", nil)
		},
		"9 from another site, without Origin": func(b *browser, token string) reply {
			b.origin, b.header = "", []string{"Sec-Fetch-Site: cross-site"}
			return b.answers(token, "allow", nil)
		},
		"10 from another host, without Origin": func(b *browser, token string) reply {
			b.origin, b.header = "", []string{"Sec-Fetch-Site: same-site"}
			return b.answers(token, "allow", nil)
		},
		"from this host without TLS": func(b *browser, token string) reply {
			b.origin = "http://tools.example"
			return b.answers(token, "allow", nil)
		},
		"from this host with a dot": func(b *browser, token string) reply {
			b.origin = public + "."
			return b.answers(token, "allow", nil)
		},
		"from a list of origins": func(b *browser, token string) reply {
			b.origin = public + " https://evil.example"
			return b.answers(token, "allow", nil)
		},
		"by an address that was typed": func(b *browser, token string) reply {
			b.header = []string{"Sec-Fetch-Site: none"}
			return b.answers(token, "allow", nil)
		},
		"11 with two origins": func(b *browser, token string) reply {
			b.header = []string{"Origin: https://evil.example"}
			return b.answers(token, "allow", nil)
		},
		"12 without a token": func(b *browser, _ string) reply { return b.answers("", "allow", nil) },
		"13 with a bit changed": func(b *browser, token string) reply {
			return b.answers(flip(token, len(token)/2), "allow", nil)
		},
		"14 with a token that is cut": func(b *browser, token string) reply { return b.answers(token[:len(token)-2], "allow", nil) },
		"15 later": func(b *browser, token string) reply {
			w.advance(10 * time.Minute)
			return b.answers(token, "allow", nil)
		},
		"16 twice": func(b *browser, token string) reply {
			cookies := maps.Clone(b.cookies)
			if b.answers(token, "allow", nil).back(t).Get("code") == "" {
				t.Error("the first time it does not count")
			}
			b.cookies = cookies
			return b.answers(token, "allow", nil)
		},
		"17 by following a link": func(b *browser, token string) reply {
			return b.request("GET", "/oauth/consent?"+url.Values{"token": {token}, "do": {"allow"}}.Encode(), "")
		},
		"18 with a second answer": func(b *browser, token string) reply {
			return b.request("POST", "/oauth/consent", url.Values{"token": {token}, "do": {"deny", "allow"}}.Encode())
		},
		"19 without an answer": func(b *browser, token string) reply { return b.answers(token, "", nil) },
		"20 as JSON, which a page sends": func(b *browser, token string) reply {
			return b.do("POST", "/oauth/consent", fmt.Sprintf(`{"token":%q,"do":"allow"}`, token), asJSON, "Cookie: __Host-pagetools="+login)
		},
	} {
		b := w.browser()
		b.cookies["__Host-pagetools"] = login
		token := b.opens(w.query(nil))
		if got := attack(b, token); got.StatusCode < 400 || got.Header.Get("Location") != "" {
			t.Errorf("%s: %d %s, to %s", name, got.StatusCode, got.body, got.Header.Get("Location"))
		}
		b = w.browser() // the control
		b.cookies["__Host-pagetools"] = login
		if got := b.answers(b.opens(w.query(nil)), "allow", nil); got.back(t).Get("code") == "" {
			t.Fatalf("after %s, a person's own answer: %d %s", name, got.StatusCode, got.body)
		}
	}
	// Answers at once, from the one browser: one counts.
	b := w.browser()
	b.cookies["__Host-pagetools"] = login
	token := b.opens(w.query(nil))
	var codes atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		one := &browser{world: w, cookies: maps.Clone(b.cookies), origin: public}
		all.Go(func() {
			if one.answers(token, "allow", nil).back(t).Get("code") != "" {
				codes.Add(1)
			}
		})
	}
	if all.Wait(); codes.Load() != 1 {
		t.Errorf("16 answers at once gave %d codes", codes.Load())
	}
}

// TestLoginIsNotForged: neither a cookie that somebody made up, nor one of somebody who is gone,
// lets anybody in. Attacks 21 to 23.
func TestLoginIsNotForged(t *testing.T) {
	w := newWorld(t)
	w.connect() // the client is in use, and stays
	known := w.browser()
	known.code(w.query(nil))
	login := known.cookies["__Host-pagetools"]
	asks := func(what, cookie string, want bool) {
		t.Helper()
		b := w.browser()
		b.cookies["__Host-pagetools"] = cookie
		token := b.opens(w.query(nil))
		got := b.answers(token, "allow", nil)
		if asked := got.StatusCode == http.StatusForbidden && got.Header.Get("Location") == ""; asked != want {
			t.Errorf("%s: %d %s", what, got.StatusCode, got.Header.Get("Location"))
		}
	}
	asks("the control", login, false)
	asks("21 made up", strings.Repeat("A", len(login)), true)
	asks("22 another case", strings.ToLower(login), true)
	other := w.browser()
	other.cookies["__Host-pagetools"] = login
	other.answers(other.opens(w.query(nil)), "other", nil)
	asks("23 of a browser that was logged out", login, true)
	known.cookies = map[string]string{}
	known.code(w.query(nil))
	login = known.cookies["__Host-pagetools"]
	w.advance(30*24*time.Hour - time.Minute)
	asks("the control, for 30 days", login, false)
	w.advance(time.Minute)
	asks("after 30 days", login, true)
}

// TestWrongCodes (reach 4, 14.8): few wrong codes are looked at, from one address and in all, also
// at once; then the right one does not work either, for some time. Attacks 24 to 29.
func TestWrongCodes(t *testing.T) {
	w := newWorld(t)
	try := func(b *browser, code string) reply {
		t.Helper()
		return b.answers(b.opens(w.query(nil)), "allow", url.Values{"code": {code}})
	}
	right := func() string {
		code, _, _ := w.server.Pair(w.t.Context(), "me")
		return code
	}
	b := w.browser()
	used := right()
	if got := try(b, used); got.back(t).Get("code") == "" {
		t.Fatalf("the control: %d %s", got.StatusCode, got.body)
	}
	b = w.browser()
	if got := try(b, used); got.StatusCode != http.StatusForbidden {
		t.Errorf("24 a code twice: %d", got.StatusCode)
	}
	old := right()
	w.advance(10 * time.Minute)
	if got := try(b, old); got.StatusCode != http.StatusForbidden {
		t.Errorf("25 an old code: %d", got.StatusCode)
	}
	w.advance(time.Minute)
	var wrong, over atomic.Int32
	var all sync.WaitGroup
	token, cookies := b.opens(w.query(nil)), maps.Clone(b.cookies)
	for range 32 {
		one := &browser{world: w, cookies: maps.Clone(cookies), origin: public}
		all.Go(func() {
			switch got := one.answers(token, "allow", url.Values{"code": {"ZZZZ-ZZZZ"}}); got.StatusCode {
			case http.StatusForbidden:
				wrong.Add(1)
			case http.StatusTooManyRequests:
				over.Add(1)
				if got.Header.Get("Retry-After") == "" {
					t.Error("there is no Retry-After")
				}
			}
		})
	}
	if all.Wait(); wrong.Load() != 5 || over.Load() != 27 {
		t.Errorf("26 of 32 wrong codes at once, %d were looked at, %d refused", wrong.Load(), over.Load())
	}
	if got := try(b, right()); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("27 the right code, after 5 wrong ones: %d", got.StatusCode)
	}
	elsewhere := w.browser()
	elsewhere.header = []string{"X-Forwarded-For: 203.0.113.9, 198.51.100.7"}
	if got := try(elsewhere, right()); got.back(t).Get("code") == "" {
		t.Errorf("from another address: %d %s", got.StatusCode, got.body)
	}
	w.advance(time.Minute)
	if got := try(b, right()); got.back(t).Get("code") == "" {
		t.Errorf("a minute later: %d %s", got.StatusCode, got.body)
	}
	// 7 were wrong in this hour; a proxy names another address each time, and a client adds more.
	for i := range 13 {
		elsewhere = w.browser()
		elsewhere.header = []string{fmt.Sprintf("X-Forwarded-For: 10.0.0.1, 198.51.100.%d", i)}
		if got := try(elsewhere, "ZZZZ-ZZZZ"); got.StatusCode != http.StatusForbidden {
			t.Fatalf("wrong code %d: %d", i, got.StatusCode)
		}
	}
	elsewhere = w.browser()
	elsewhere.header = []string{"X-Forwarded-For: 192.0.2.77"}
	if got := try(elsewhere, right()); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("28 the right code, after 20 wrong ones from everywhere: %d", got.StatusCode)
	}
	w.advance(time.Hour)
	if got := try(elsewhere, right()); got.back(t).Get("code") == "" {
		t.Errorf("an hour later: %d %s", got.StatusCode, got.body)
	}
	// One subscriber has a whole network of IPv6.
	statuses := map[int]int{}
	for i := range 8 {
		elsewhere = w.browser()
		elsewhere.header = []string{fmt.Sprintf("X-Forwarded-For: 2001:db8:1:2::%x", i)}
		statuses[try(elsewhere, "ZZZZ-ZZZZ").StatusCode]++
	}
	if statuses[http.StatusForbidden] != 5 || statuses[http.StatusTooManyRequests] != 3 {
		t.Errorf("29 from 8 addresses of one network: %v", statuses)
	}
}
