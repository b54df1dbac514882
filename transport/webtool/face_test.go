package webtool_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	for path, name := range map[string]string{
		"/webtools/weather": "weather", "/webtools/shop": "shop", "/webtools/shop/actions/add": "shop_add", "/webtools/weather/actions/get_current": "weather_get_current",
	} {
		first := w.get(t, path)
		checkSemantics(t, "metadata", first.body)
		if !strings.HasPrefix(first.body, `{"name":"`+name+`",`) {
			t.Errorf("%s: %s", path, first.body)
		}
		etag := first.Header.Get("ETag")
		if !strings.HasPrefix(etag, `"`) || !strings.HasSuffix(etag, `-1.0.0"`) || first.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %v", path, first.Header)
		}
		for _, same := range []string{path + "/", path + "/latest", path + "/1.0.0", path + "/1.0.0/", path + "?sessionId=", path + "?other=1"} {
			if strings.HasSuffix(same, "=") {
				continue
			}
			if got := w.get(t, same); got.body != first.body || got.Header.Get("ETag") != etag {
				t.Errorf("%s differs from %s: %d %s", same, path, got.StatusCode, got.body)
			}
		}
		if got := w.get(t, path+"/1.0.0").Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s/1.0.0: Cache-Control %q", path, got)
		}
		head := w.send(t, http.MethodHead, path, "")
		if head.StatusCode != http.StatusOK || head.body != "" || head.ContentLength != int64(len(first.body)) || head.Header.Get("ETag") != etag {
			t.Errorf("HEAD %s: %d %v", path, head.StatusCode, head.Header)
		}
	}
	if n := len(w.Calls()); n != 0 {
		t.Errorf("reading documents called the site %d times", n)
	}
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	first := w.get(t, "/webtools/shop")
	etag := first.Header.Get("ETag")
	for match, status := range map[string]int{
		etag: 304, "W/" + etag: 304, "*": 304, `"x", ` + etag: 304, `"x",W/` + etag + `,"y"`: 304,
		`"x"`: 200, strings.Trim(etag, `"`): 200, `W/"x"`: 200,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := w.send(t, method, "/webtools/shop", "", "If-None-Match: "+match)
			if got.StatusCode != status {
				t.Errorf("%s %s: %d, want %d", method, match, got.StatusCode, status)
			}
			if got.Header.Get("ETag") != etag || status == 304 && (got.body != "" || got.Header.Get("Cache-Control") != "no-cache") {
				t.Errorf("%s %s: %v %q", method, match, got.Header, got.body)
			}
		}
	}
	w.Declare("shop", bridgetest.Tool("add", ""))
	if got := w.get(t, "/webtools/shop", "If-None-Match: "+etag); got.StatusCode != http.StatusOK || got.Header.Get("ETag") == etag {
		t.Errorf("a changed document: %d %s", got.StatusCode, got.Header.Get("ETag"))
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	first := w.get(t, "/webtools/shop")
	w.Declare("shop", bridgetest.Tool("other", ""))
	second := w.get(t, "/webtools/shop")
	if !strings.Contains(second.body, `"version":"2.0.0"`) {
		t.Errorf("the second document: %s", second.body)
	}
	w.get(t, "/webtools/shop/1.0.0").want(t, 200, first.body)
	w.get(t, "/webtools/shop/1.0.0?sessionId=x").want(t, 200, first.body)
	// Also when the site is down.
	w.Fail("shop", bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "Away."))
	w.get(t, "/webtools/shop/1.0.0").want(t, 200, first.body)
	stale := w.get(t, "/webtools/shop")
	if stale.StatusCode != http.StatusOK || !strings.Contains(stale.body, `"stale":true`) || !strings.Contains(stale.body, `"version":"2.0.0"`) || stale.Header.Get("ETag") == second.Header.Get("ETag") {
		t.Errorf("a site that is down is %d %s", stale.StatusCode, stale.body)
	}
	w.Fail("shop", nil)

	for _, path := range []string{
		"/webtools/shop/9.9.9", "/webtools/shop/1.0.0-rc.1", "/webtools/shop/1.0.0+build", // versions that do not exist
		"/webtools/shop/v1.0.0", "/webtools/shop/1", "/webtools/shop/1.0", "/webtools/shop/^1.0.0", "/webtools/shop/01.0.0", "/webtools/shop/LATEST", "/webtools/shop/" + strings.Repeat("1", 130) + ".0.0", // not versions
		"/webtools/shop/actions", "/webtools/shop/actions/nope", "/webtools/nowhere", "/webtools/nowhere/1.0.0", "/webtools/shop/actions/other/9.9.9",
		"/webtools/shop%2Factions%2Fother", "/webtools/shop/actions/other/1.0.0/x", "/webtools/shop/openapi.json", "/webtools/", "/",
	} {
		if path == "/webtools/" {
			continue
		}
		w.get(t, path).wantError(t, 404, bridge.WebtoolNotFound, "", bridge.NotRun)
	}

	// A call that pins runs what it pinned, or nothing. Both dialects.
	for pinned, status := range map[string]int{"2.0.0": 200, "latest": 200, "1.0.0": 404, "9.9.9": 404, "v2.0.0": 404, "": 404} {
		body := fmt.Sprintf(`{"version":%q,"action":"other","request":{}}`, pinned)
		if got := w.post(t, "/webtools/shop", body); got.StatusCode != status {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.body)
		}
		legacy := status
		if pinned == "1.0.0" { // the version exists, its action does not
			legacy = 400
		}
		body = fmt.Sprintf(`{"version":%q,"action":"other","payload":{}}`, pinned)
		if got := w.post(t, "/webtools/shop", body); got.StatusCode != legacy {
			t.Errorf("%s: %d %s, want %d", body, got.StatusCode, got.body, legacy)
		}
	}
	// A one-action webtool has a history of its own.
	w.post(t, "/webtools/shop/actions/other", `{"version":"1.0.0","request":{}}`).want(t, 200, `{"status":"ok","data":{}}`)
	w.post(t, "/webtools/shop/actions/other", `{"version":"2.0.0","request":{}}`).wantError(t, 404, bridge.WebtoolNotFound, "", bridge.NotRun)
}

func TestSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	w.get(t, "/webtools/shop")
	w.DeclareIn("shop", "mine", bridgetest.Tool("secret", ""))
	got := w.get(t, "/webtools/shop?sessionId=mine")
	checkSemantics(t, "metadata", got.body)
	if !strings.Contains(got.body, `"secret"`) || got.Header.Get("ETag") != "" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v %s", got.Header, got.body)
	}
	if got := w.get(t, "/webtools/shop?sessionId=other"); strings.Contains(got.body, `"secret"`) {
		t.Errorf("another session: %s", got.body)
	}
	for _, query := range []string{"sessionId=", "sessionId=a&sessionId=b", "sessionId=" + strings.Repeat("x", 257), "sessionId=%ff", "a=%zz"} {
		w.get(t, "/webtools/shop?"+query).wantError(t, 400, bridge.SchemaError, "", bridge.NotRun)
	}
	w.get(t, "/webtools/shop?sessionId="+strings.Repeat("x", 256)).checkOK(t)

	// The current dialect's id is state; the older one's is for logs.
	w.post(t, "/webtools/shop", `{"sessionId":"mine","action":"secret","request":{}}`).checkOK(t)
	w.post(t, "/webtools/shop", `{"session_id":"correlated","action":"add","payload":{}}`).checkOK(t)
	w.post(t, "/webtools/shop", `{"action":"add","request":{}}`).checkOK(t)
	for i, want := range []string{"mine", "", ""} {
		if got := w.Calls()[i].Ref.Session; got != want {
			t.Errorf("call %d has the session %q, want %q", i, got, want)
		}
	}
	w.log.waitFor(t, `"session_id":"correlated"`)
}

func (r reply) checkOK(t *testing.T) {
	t.Helper()
	if r.StatusCode != http.StatusOK {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	w.Fail("weather", bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "Away."))
	got := w.get(t, "/webtools")
	var index struct {
		Webtools []struct {
			Name, URL, Description, Version string
			Tools                           []string
			Error                           *struct{ Code, Reason, Message string }
		}
	}
	if err := json.Unmarshal([]byte(got.body), &index); err != nil || len(index.Webtools) != 2 {
		t.Fatalf("%v: %s", err, got.body)
	}
	weather, shop := index.Webtools[0], index.Webtools[1]
	if weather.Name != "weather" || weather.Error == nil || weather.Error.Reason != "UNREACHABLE" || weather.Tools == nil || len(weather.Tools) != 0 || weather.Description == "" {
		t.Errorf("weather: %+v", weather)
	}
	if shop.Name != "shop" || shop.Error != nil || shop.Version != "1.0.0" || strings.Join(shop.Tools, " ") != "add buy count" || shop.Description == "" {
		t.Errorf("shop: %+v", shop)
	}
	if shop.URL != w.url+"/webtools/shop" {
		t.Errorf("URL %q", shop.URL)
	}
	if got := w.get(t, strings.TrimPrefix(shop.URL, w.url)); got.StatusCode != http.StatusOK {
		t.Errorf("the URL of the index: %d", got.StatusCode)
	}
	if got := w.get(t, "/webtools/"); got.StatusCode != http.StatusOK || got.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("with a slash: %d %v", got.StatusCode, got.Header)
	}
	named := w.get(t, "/webtools", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.test")
	if strings.Contains(named.body, "evil.test") || strings.Contains(named.body, "https://127") {
		t.Errorf("a header of a stranger is in a URL: %s", named.body)
	}
}

// TestIndexWaitsTogether: two sites that open slowly cost the time of one.
func TestIndexWaitsTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	openWeather, openShop := w.Opening("weather"), w.Opening("shop")
	answered := make(chan reply)
	go func() { answered <- w.get(t, "/webtools") }()
	openShop() // the second one first: nobody queues behind the first
	openWeather()
	if got := <-answered; strings.Contains(got.body, "error") {
		t.Errorf("%s", got.body)
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	for _, test := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"POST", "/webtools", 405, "GET, HEAD, OPTIONS"},
		{"POST", "/webtools/shop/1.0.0", 405, "GET, HEAD, OPTIONS"},
		{"POST", "/webtools/shop/actions/add/latest", 405, "GET, HEAD, OPTIONS"},
		{"PUT", "/webtools/shop", 405, "GET, HEAD, OPTIONS, POST"},
		{"DELETE", "/webtools/shop/actions/add/", 405, "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/webtools", 204, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/webtools/shop", 204, "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/webtools/shop/1.0.0", 204, "GET, HEAD, OPTIONS"},
		{"POST", "/webtools/shop/nonsense", 404, ""},
	} {
		body := ""
		if test.method == "POST" || test.method == "PUT" {
			body = callAdd
		}
		got := w.send(t, test.method, test.path, body)
		if got.StatusCode != test.status || got.Header.Get("Allow") != test.allow {
			t.Errorf("%s %s: %d, Allow %q", test.method, test.path, got.StatusCode, got.Header.Get("Allow"))
		}
		if test.status == 405 {
			got.wantError(t, 405, bridge.MethodNotAllowed, "", bridge.NotRun)
		}
	}
	if n := len(w.Calls()); n != 0 {
		t.Errorf("the site was called %d times", n)
	}
	// The controls, with and without the slash.
	w.post(t, "/webtools/shop/", callAdd).checkOK(t)
	w.post(t, "/webtools/shop/actions/add", `{"request":{"a":1}}`).want(t, 200, `{"status":"ok","data":{"a":1}}`)
	w.post(t, "/webtools/shop/actions/add/", `{"action":"add","request":{}}`).checkOK(t)
}

// TestResultsAreVerbatim: what the page returned is not encoded again.
func TestResultsAreVerbatim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	for _, data := range []string{
		`null`, `"text"`, `"<b>&amp;</b>"`, `0`, `-0`, `1.0`, `12345678901234567890`, `1e400`, `[]`, `{}`, `{"b":1,"a":2}`, `{"status":"error","error":{"code":"X"}}`,
		`{"content":[{"type":"text","text":"hi"}]}`, `{"é":"\u2028"}`,
	} {
		w.Answer("shop", data, nil)
		w.post(t, "/webtools/shop", callAdd).want(t, 200, `{"status":"ok","data":`+data+`}`)
		w.post(t, "/webtools/shop", olderAdd).want(t, 200, data)
	}
	got := w.post(t, "/webtools/shop", callAdd)
	checkSemantics(t, "ok", got.body)
	if got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", got.Header)
	}
}

// TestBubble keeps the face usable inside of synctest: it starts no goroutine
// that outlives a request.
func TestBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, err := bridge.New(bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", "")), bridge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		serveOnce(t, b, http.MethodGet, "/webtools", "")
	})
}

// TestIdempotencyKey (A19, R38): a call with a key runs once; the key of another
// call is 422.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	send := func(key, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/webtools/shop", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header["Idempotency-Key"] = strings.Split(key, "|")
		resp, err := w.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	for range 3 {
		if status, body := send("a key", callAdd); status != http.StatusOK || body != `{"status":"ok","data":{"a":1}}` {
			t.Errorf("%d %s", status, body)
		}
	}
	if n := len(w.Calls()); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	if status, body := send("a key", `{"action":"add","request":{"a":2}}`); status != http.StatusUnprocessableEntity || !strings.Contains(body, `"code":"CONFLICT"`) {
		t.Errorf("another body: %d %s", status, body)
	}
	for _, bad := range []string{"", "é", strings.Repeat("k", 256), "one|two"} {
		if status, body := send(bad, callAdd); status != http.StatusBadRequest || !strings.Contains(body, "Idempotency-Key") {
			t.Errorf("%.20q: %d %s", bad, status, body)
		}
	}
	if status, _ := send("another", callAdd); status != http.StatusOK || len(w.Calls()) != 2 {
		t.Errorf("another key: %d", status)
	}
}
