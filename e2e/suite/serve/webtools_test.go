package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestWebtools goes through the rows of the webtools reference that concern a
// server. Each subtest names its rows; docs/internal/webtools.md has them all.
func TestWebtools(t *testing.T) {
	t.Parallel()
	w := newWebtools(t)
	for _, row := range []struct {
		rows  string
		check func(*testing.T, *webtools)
	}{
		{"W3 L2 L6", statelessRow},
		{"W1 W4 W5 W12 W16 W17 W31 L1 L3 A15", documentRow},
		{"W2 W13 W25 W33 L4 L5 L13", configDocRow},
		{"W10 A6", pathRow},
		{"W11 A7", indexRow},
		{"W7 W26 W36 A10", configRow},
		{"W6 W27 W35 W40", inputRow},
		{"W8 W28 W29 W39 W44 W45 W46 A9 A12", envelopeRow},
		{"W20 W24 A2", latestRow},
		{"W21 W34 A4", unknownRow},
		{"W22 A14", dialectRow},
		{"W23 A5", sessionRow},
		{"W30 A16", methodRow},
		{"W41 A8", actionRow},
		{"L7 L8 L9 L10 L11", olderRow},
		{"W48 A13 A18", authorizationRow},
		{"A17", cachingRow},
		{"A19", keyRow},
		{"W9 W14 W15 W18 W19 A1 A3", pinRow},
	} {
		t.Run(strings.ReplaceAll(row.rows, " ", "_"), func(t *testing.T) { row.check(t, w) })
	}
	t.Run("batch", func(t *testing.T) { batches(t, w) })
}

// batches runs several calls in one page: each batch in a fresh one, or in that of a session.
func batches(t *testing.T, w *webtools) {
	const steps = `"steps":[{"id":"a","action":"count","request":{}},{"id":"b","action":"count","request":{"#n":{"resultOf":"a","path":""}}},
		{"id":"c","action":"fail","request":{}},{"id":"d","action":"count","request":{}}]`
	for _, x := range []struct{ body, want string }{
		{`{` + steps + `}`, `a 1 b 2 c failed d skipped`},
		{`{` + steps + `,"onError":"continue"}`, `a 1 b 2 c failed d 3`},
		{`{"sessionId":"batch",` + steps + `}`, `a 1 b 2 c failed d skipped`},
		{`{"sessionId":"batch",` + steps + `}`, `a 3 b 4 c failed d skipped`},
	} {
		r := w.post(t, "/webtools/counter/batch", x.body)
		var got struct {
			Steps []struct {
				ID, Status string
				Data       json.RawMessage
				Error      suite.Failure
			}
		}
		if err := json.Unmarshal(r.Body, &got); err != nil || r.Status != http.StatusOK {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		var said []string
		for _, s := range got.Steps {
			word := s.Status
			switch s.Status {
			case "ok":
				word = string(s.Data)
			case "error":
				word = s.Error.Outcome
			}
			said = append(said, s.ID, word)
		}
		if is := strings.Join(said, " "); is != x.want {
			t.Errorf("%s: %s, want %s", x.body, is, x.want)
		}
	}
}

// statelessRow calls before anybody asked for a document.
func statelessRow(t *testing.T, w *webtools) {
	if got := w.post(t, "/webtools/counter", `{"action":"count","request":{}}`).OK(t); got != 1.0 {
		t.Errorf("got %v", got)
	}
	for range 2 { // the session of the older dialect is a name for logs
		if r := w.post(t, "/webtools/counter", `{"session_id":"x","action":"count","payload":{}}`); r.Status != http.StatusOK || string(r.Body) != "1" {
			t.Errorf("got %d %s", r.Status, r.Body)
		}
	}
	if r := w.post(t, "/webtools/counter", `{"action":"count","payload":{}}`); string(r.Body) != "1" {
		t.Errorf("without session_id: %s", r.Body)
	}
}

func documentRow(t *testing.T, w *webtools) {
	for _, path := range []string{"/webtools/good", "/webtools/weather", "/webtools/good/actions/echo"} {
		r := w.get(t, path)
		d := r.Value(t)
		if r.Status != http.StatusOK || d["name"] == "" || d["description"] == "" || d["version"] != "1.0.0" {
			t.Errorf("%s: %d %s", path, r.Status, suite.Shorten(r.Body))
		}
		actions, _ := d["actions"].([]any)
		if len(actions) == 0 {
			t.Fatalf("%s has no actions", path)
		}
		for _, a := range actions {
			a, _ := a.(map[string]any)
			request, _ := a["requestSchema"].(map[string]any)
			_, response := a["responseSchema"].(map[string]any)
			if a["name"] == "" || a["description"] == "" || !response || request["type"] != "object" || request["properties"] == nil || !reflect.DeepEqual(a["schema"], a["requestSchema"]) {
				t.Errorf("%s has the action %v", path, a)
			}
		}
		for _, k := range []string{"configSchema", "defaultConfig"} {
			if _, ok := d[k].(map[string]any); !ok {
				t.Errorf("%s has %s %v", path, k, d[k])
			}
		}
	}
}

func configDocRow(t *testing.T, w *webtools) {
	d := w.get(t, "/webtools/weather").Value(t)
	schema, _ := d["configSchema"].(map[string]any)
	props, _ := schema["properties"].(map[string]any)
	if schema["type"] != "object" || schema["additionalProperties"] != false || props["units"] == nil || props["timeout"] == nil {
		t.Errorf("configSchema is %v", schema)
	}
	for name, p := range props {
		if p, _ := p.(map[string]any); p["description"] == "" || p["description"] == nil {
			t.Errorf("config.%s says nothing of itself", name)
		}
	}
	action := d["actions"].([]any)[0].(map[string]any)
	request := action["requestSchema"].(map[string]any)["properties"].(map[string]any)
	for name := range props {
		if name != "units" && request[name] != nil { // units is the tool's own, too
			t.Errorf("config.%s is in the requestSchema", name)
		}
	}
	def, _ := d["defaultConfig"].(map[string]any)
	if def["units"] != "metric" || def["timeout"] != 30000.0 {
		t.Errorf("defaultConfig is %v", def)
	}
	// Clients of the older dialect send it back as it is.
	back, _ := json.Marshal(def)
	if got := w.post(t, "/webtools/weather", fmt.Sprintf(`{"sessionId":"a","request":{"location":"Paris"},"config":%s}`, back)).OK(t); got.(map[string]any)["units"] != "metric" {
		t.Errorf("got %v", got)
	}
}

func pathRow(t *testing.T, w *webtools) {
	for _, path := range []string{"/webtools/good", "/webtools/good/actions/echo", "/webtools"} {
		plain, slashed := w.get(t, path), w.get(t, path+"/")
		if plain.Status != http.StatusOK || slashed.Status != http.StatusOK || string(plain.Body) != string(slashed.Body) {
			t.Errorf("%s: %d and %d", path, plain.Status, slashed.Status)
		}
	}
	if got := w.post(t, "/webtools/good/", `{"action":"echo","request":{"text":"x"}}`).OK(t); got == nil {
		t.Error("POST with a slash gives nothing")
	}
}

func indexRow(t *testing.T, w *webtools) {
	list, _ := w.get(t, "/webtools").Value(t)["webtools"].([]any)
	if len(list) != 4 {
		t.Fatalf("the index has %d webtools", len(list))
	}
	for _, x := range list {
		x, _ := x.(map[string]any)
		address, _ := x["url"].(string)
		path, ok := strings.CutPrefix(address, w.URL)
		if !ok || x["name"] == "" || x["description"] == "" || x["version"] == "" {
			t.Errorf("the index has %v", x)
		} else if w.get(t, path).Value(t)["name"] != x["name"] {
			t.Errorf("%s is another webtool", address)
		}
	}
}

func configRow(t *testing.T, w *webtools) {
	units := func(config string) any {
		if config != "" {
			config = `,"config":` + config
		}
		got, _ := w.post(t, "/webtools/weather", `{"sessionId":"a","request":{"location":"Paris"}`+config+`}`).OK(t).(map[string]any)
		return got["units"]
	}
	for config, want := range map[string]any{"": "metric", `{}`: "metric", `{"units":"imperial"}`: "imperial", `{"units":null}`: "none", `{"timeout":5000}`: "metric"} {
		if got := units(config); got != want {
			t.Errorf("config %s: units are %v, want %v", config, got, want)
		}
	}
	for _, config := range []string{`{"units":"kelvin"}`, `{"unit":"metric"}`, `{"timeout":"1s"}`, `{"timeout":0}`, `[]`, `"x"`, `{"headers":{"X":"y"}}`} {
		w.post(t, "/webtools/weather", `{"request":{"location":"Paris"},"config":`+config+`}`).Refused(t, http.StatusBadRequest, "CONFIG_ERROR")
	}
}

func inputRow(t *testing.T, w *webtools) {
	for body, part := range map[string]string{
		`{"action":"get_current"}`:                                         "request",
		`{"action":"get_current","request":{}}`:                            "location",
		`{"action":"get_current","request":{"location":1}}`:                "location",
		`{"action":"get_current","request":{"location":"x","y":1}}`:        "y",
		`{"action":"get_current","request":[]}`:                            "object",
		`{"action":"get_current","request":{"location":"x"},"request":{}}`: "twice",
		`{`:  "",
		`[]`: "",
	} {
		e := w.post(t, "/webtools/weather", body).Refused(t, http.StatusBadRequest, "SCHEMA_ERROR")
		if message, _ := e["message"].(string); !strings.Contains(message, part) || e["outcome"] != "not_run" {
			t.Errorf("%s: %v", body, e)
		}
	}
	w.post(t, "/webtools/weather", `{"sessionId":"a","action":"get_current","request":{"location":"x"}}`).OK(t)
}

func envelopeRow(t *testing.T, w *webtools) {
	if got := w.post(t, "/webtools/counter", `{"sessionId":"e","action":"nothing","request":{}}`).OK(t); got != nil {
		t.Errorf("nothing is %v", got)
	}
	e := w.post(t, "/webtools/counter", `{"sessionId":"e","action":"fail","request":{}}`).Refused(t, http.StatusUnprocessableEntity, "TOOL_ERROR")
	if e["outcome"] != "failed" || !strings.Contains(fmt.Sprint(e["message"]), "the widget is broken") {
		t.Errorf("a tool that throws: %v", e)
	}
	e = w.post(t, "/webtools/counter", `{"sessionId":"e","action":"crash","request":{}}`).Refused(t, http.StatusBadGateway, "INTERNAL_ERROR")
	if e["reason"] != "PAGE_NAVIGATED" || e["outcome"] != "unknown" || regexp.MustCompile(`\.go:|/work/|goroutine|cdp|Target\.`).MatchString(fmt.Sprint(e)) {
		t.Errorf("a tool that takes its page away: %v", e)
	}
}

func latestRow(t *testing.T, w *webtools) {
	for _, path := range []string{"/webtools/good", "/webtools/good/actions/echo"} {
		now := w.get(t, path)
		version, _ := now.Value(t)["version"].(string)
		for _, at := range []string{"/latest", "/" + version} {
			if r := w.get(t, path+at); string(r.Body) != string(now.Body) {
				t.Errorf("%s%s is %s", path, at, suite.Shorten(r.Body))
			}
		}
		body := `{"sessionId":"a","action":"echo","request":{"text":"x"}%s}`
		for _, pin := range []string{"", `,"version":"latest"`, `,"version":"` + version + `"`} {
			w.post(t, path, fmt.Sprintf(body, pin)).OK(t)
		}
	}
}

func unknownRow(t *testing.T, w *webtools) {
	for _, path := range []string{"/webtools/none", "/webtools/good/9.9.9", "/webtools/good/v1.0.0", "/webtools/good/1", "/webtools/good/1.x", "/webtools/good/actions/none",
		"/webtools/good/actions/echo/9.9.9", "/webtools/good/more"} {
		w.get(t, path).Refused(t, http.StatusNotFound, "WEBTOOL_NOT_FOUND")
	}
	w.post(t, "/webtools/none", `{"request":{}}`).Refused(t, http.StatusNotFound, "WEBTOOL_NOT_FOUND")
	w.post(t, "/webtools/good", `{"action":"echo","version":"9.9.9","request":{}}`).Refused(t, http.StatusNotFound, "WEBTOOL_NOT_FOUND")
	e := w.post(t, "/webtools/good", `{"action":"none","request":{}}`).Refused(t, http.StatusNotFound, "WEBTOOL_NOT_FOUND")
	if details, _ := e["details"].(map[string]any); len(details["actions"].([]any)) != 5 {
		t.Errorf("it does not name the actions: %v", e)
	}
}

func dialectRow(t *testing.T, w *webtools) {
	w.post(t, "/webtools/good", `{"sessionId":"a","action":"echo","request":{"text":"x"},"extra":1,"id":"y"}`).OK(t)
	w.post(t, "/webtools/good", `{"action":"echo","request":{},"payload":{}}`).Refused(t, http.StatusBadRequest, "SCHEMA_ERROR")
	if r := w.post(t, "/webtools/good", `{"action":"echo","payload":{"text":"x"},"extra":1}`); string(r.Body) != `{"text":"x"}` {
		t.Errorf("the older dialect: %s", r.Body)
	}
}

func sessionRow(t *testing.T, w *webtools) {
	count := func(site, session string) any {
		return w.post(t, "/webtools/"+site, fmt.Sprintf(`{"sessionId":%q,"action":"count","request":{}}`, session)).OK(t)
	}
	for want := 1.0; want <= 3; want++ {
		if got := count("counter", "a"); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if got := count("counter", "b"); got != 1.0 {
		t.Errorf("another session counts %v", got)
	}
	if got := count("counter/actions/count", "a"); got != 4.0 {
		t.Errorf("the webtool of one tool has another session: %v", got)
	}
	if got := w.post(t, "/webtools/counter", `{"action":"count","request":{}}`).OK(t); got != 1.0 {
		t.Errorf("without a session it counts %v", got)
	}
	for _, id := range []string{`""`, `1`, `"` + strings.Repeat("x", 257) + `"`} {
		w.post(t, "/webtools/counter", `{"sessionId":`+id+`,"action":"count","request":{}}`).Refused(t, http.StatusBadRequest, "SCHEMA_ERROR")
	}
}

func methodRow(t *testing.T, w *webtools) {
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""} {
		w.post(t, "/webtools/good", `{"action":"echo","request":{}}`, "Content-Type", kind).Refused(t, http.StatusUnsupportedMediaType, "SCHEMA_ERROR")
	}
	for _, path := range []string{"/", "/none", "/webtools/good/actions", "/favicon.ico"} {
		w.get(t, path).Value(t)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
		r := w.request(t, method, "/webtools/good", "")
		r.Refused(t, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		if r.Header.Get("Allow") == "" {
			t.Errorf("%s does not say what is allowed", method)
		}
	}
	if r := w.request(t, http.MethodOptions, "/webtools/good", ""); r.Status != http.StatusNoContent || !strings.Contains(r.Header.Get("Allow"), "POST") {
		t.Errorf("OPTIONS: %d %v", r.Status, r.Header)
	}
	get, head := w.get(t, "/webtools/good"), w.request(t, http.MethodHead, "/webtools/good", "")
	if head.Status != http.StatusOK || len(head.Body) > 0 || head.Header.Get("Etag") != get.Header.Get("Etag") || head.Header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %d %v", head.Status, head.Header)
	}
	if r := w.request(t, http.MethodGet, "/webtools/good", "", "Accept", "text/html"); r.Header.Get("Content-Type") != "application/json" {
		t.Error("Accept changes the type")
	}
}

func actionRow(t *testing.T, w *webtools) {
	for _, path := range []string{"/webtools/weather", "/webtools/weather/actions/get_current", "/webtools/good/actions/echo"} {
		w.post(t, path, `{"sessionId":"fresh-`+strings.ReplaceAll(path, "/", "-")+`","request":{"location":"Paris"}}`).OK(t)
	}
	got := w.post(t, "/webtools/weather", `{"sessionId":"a","request":{"action":"get_current","location":"Paris"}}`).OK(t) // as guide 1 repeats it
	if got.(map[string]any)["location"] != "Paris" {
		t.Errorf("got %v", got)
	}
	e := w.post(t, "/webtools/good", `{"request":{}}`).Refused(t, http.StatusBadRequest, "SCHEMA_ERROR")
	if !strings.Contains(fmt.Sprint(e["message"]), "echo") {
		t.Errorf("it does not name the actions: %v", e)
	}
}

func olderRow(t *testing.T, w *webtools) {
	if r := w.post(t, "/webtools/weather", `{"session_id":"a","action":"get_current","payload":{"location":"Paris"},"config":{"units":"imperial"}}`); r.Status != http.StatusOK ||
		r.Value(t)["temperature"] != 64.0 {
		t.Errorf("got %d %s", r.Status, r.Body)
	}
	for body, part := range map[string]string{
		`{"session_id":"a","payload":{}}`:                                        "action",
		`{"session_id":"a","action":"none","payload":{}}`:                        "none",
		`{"session_id":"a","action":"change"}`:                                   "payload",
		`{"session_id":"a","action":"change","payload":{}}`:                      "what",
		`{"session_id":"a","action":"change","payload":{"what":1}}`:              "what",
		`{"session_id":"a","action":"refuse","payload":{}}`:                      "not today",
		`{"session_id":"a","action":"change","payload":{"what":"x"},"config":1}`: "config",
	} {
		w.post(t, "/webtools/good", body).Older(t, http.StatusBadRequest, part)
	}
	w.post(t, "/webtools/none", `{"session_id":"a","action":"x","payload":{}}`).Older(t, http.StatusNotFound, "")
	w.post(t, "/webtools/counter", `{"session_id":"a","action":"crash","payload":{}}`).Older(t, http.StatusBadGateway, "")
}

func authorizationRow(t *testing.T, w *webtools) {
	w.post(t, "/webtools/good", `{"sessionId":"a","action":"echo","request":{}}`, "Authorization", "Bearer whatever").OK(t) // nobody asked for one
	w.post(t, "/webtools/good", `{"action":"echo","request":{}}`, "Origin", "https://evil.example").Refused(t, http.StatusForbidden, "FORBIDDEN")
	w.request(t, http.MethodGet, "/webtools/good", "", "Origin", "https://evil.example").Refused(t, http.StatusForbidden, "FORBIDDEN")
	closed := &webtools{Server: suite.Serve(t, "good="+suite.PageServer().Page("good.html"), "--token", "a-token-of-the-tests-that-is-long")}
	r := closed.get(t, "/webtools/good")
	r.Refused(t, http.StatusUnauthorized, "UNAUTHORIZED")
	if !strings.HasPrefix(r.Header.Get("Www-Authenticate"), "Bearer") {
		t.Errorf("WWW-Authenticate is %q", r.Header.Get("Www-Authenticate"))
	}
	for _, path := range []string{"/", "/llms.txt"} { // what a server is, for whoever has its address
		if r := closed.get(t, path); r.Status != http.StatusOK || !strings.Contains(string(r.Body), "/mcp") || strings.Contains(string(r.Body), "good") {
			t.Errorf("%s without a credential: %d %s", path, r.Status, r.Body)
		}
		if r := closed.request(t, http.MethodGet, path, "", "Authorization", "Bearer a-token-of-the-tests-that-is-long"); !strings.Contains(string(r.Body), "/webtools/good") {
			t.Errorf("%s with one: %d %s", path, r.Status, r.Body)
		}
	}
	closed.request(t, http.MethodGet, "/webtools/good", "", "Authorization", "Bearer wrong").Refused(t, http.StatusForbidden, "FORBIDDEN")
	closed.request(t, http.MethodGet, "/webtools/good", "", "Authorization", "Bearer a-token-of-the-tests-that-is-long").Value(t)
}

func cachingRow(t *testing.T, w *webtools) {
	r := w.get(t, "/webtools/good")
	tag := r.Header.Get("Etag")
	if tag == "" || strings.HasPrefix(tag, "W/") || !strings.Contains(r.Header.Get("Cache-Control"), "no-cache") {
		t.Errorf("the current document has %v", r.Header)
	}
	if same := w.request(t, http.MethodGet, "/webtools/good", "", "If-None-Match", tag); same.Status != http.StatusNotModified || len(same.Body) > 0 {
		t.Errorf("with its tag: %d %s", same.Status, same.Body)
	}
	if other := w.request(t, http.MethodGet, "/webtools/good", "", "If-None-Match", `"other"`); other.Status != http.StatusOK {
		t.Errorf("with another tag: %d", other.Status)
	}
	if old := w.get(t, "/webtools/good/1.0.0"); !strings.Contains(old.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("a version has %v", old.Header)
	}
}

func keyRow(t *testing.T, w *webtools) {
	const body = `{"sessionId":"keys","action":"count","request":{}}`
	for range 3 {
		if got := w.post(t, "/webtools/counter", body, "Idempotency-Key", "k").OK(t); got != 1.0 {
			t.Errorf("it ran again: %v", got)
		}
	}
	w.post(t, "/webtools/counter", `{"sessionId":"keys","action":"nothing","request":{}}`, "Idempotency-Key", "k").Refused(t, http.StatusUnprocessableEntity, "CONFLICT")
	if got := w.post(t, "/webtools/counter", body).OK(t); got != 2.0 {
		t.Errorf("without the key: %v", got)
	}
}

// pinRow changes the page, so it comes last.
func pinRow(t *testing.T, w *webtools) {
	before := w.get(t, "/webtools/counter")
	version, _ := before.Value(t)["version"].(string)
	w.change()
	var now string
	suite.Eventually(t, suite.ReplyWithin, "the page's change has a version", func() bool {
		now, _ = w.get(t, "/webtools/counter").Value(t)["version"].(string)
		return now != version && strings.Contains(string(w.get(t, "/webtools/counter").Body), "Not as it was.")
	})
	if r := w.get(t, "/webtools/counter/"+version); string(r.Body) != string(before.Body) {
		t.Errorf("version %s is not what it was: %s", version, suite.Shorten(r.Body))
	}
	if now <= version {
		t.Errorf("%s came after %s", now, version)
	}
	pinned := func(action, at string) suite.Reply {
		return w.post(t, "/webtools/counter", fmt.Sprintf(`{"action":%q,"version":%q,"request":{}}`, action, at))
	}
	if e := pinned("swap", version).Refused(t, http.StatusConflict, "VERSION_MISMATCH"); e["outcome"] != "not_run" {
		t.Errorf("a pin to what is gone: %v", e)
	}
	pinned("count", version).OK(t) // it is as it was
	var r suite.Reply
	suite.Within(10*time.Second, func() bool { r = pinned("swap", now); return r.Status == http.StatusOK })
	if got := r.OK(t); got != "new" {
		t.Errorf("pinned to the new version: %v", got)
	}
}
