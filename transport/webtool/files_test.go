package webtool_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestBodiesWithFiles: a body may be 4 MiB long when its arguments are for a tool that takes files,
// and 1 MiB otherwise.
func TestBodiesWithFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	w.Declare("weather", bridgetest.Tool("put", `{"type":"object","properties":{"size":{"type":"string"},"file":{"type":"string","contentEncoding":"base64"}}}`),
		bridgetest.Tool("say", `{"type":"object","properties":{"file":{"type":"string"}}}`))
	long := func(n int) string { return strings.Repeat("A", n) }
	for _, x := range []struct {
		body   string
		status int
		what   string
	}{
		{`{"action":"say","request":{"file":"` + long(100_000) + `"}}`, 200, ""},
		{`{"action":"say","request":{"file":"` + long(2_000_000) + `"}}`, http.StatusRequestEntityTooLarge, "262144"},
		{`{"action":"put","request":{},"more":"` + long(2_000_000) + `"}`, http.StatusRequestEntityTooLarge, "1048576"},
		{`{"action":"put","request":{"file":"` + long(2_700_000) + `"}}`, 422, "RESULT_TOO_LARGE"}, // it ran: the tool echoes
		{`{"action":"put","request":{"file":"` + long(2_900_000) + `"}}`, 400, "/file"},
		{`{"action":"put","request":{"file":"` + long(5_000_000) + `"}}`, http.StatusRequestEntityTooLarge, "4194304"},
	} {
		got := w.send(t, http.MethodPost, "/webtools/weather", x.body)
		if got.StatusCode != x.status || !strings.Contains(got.body, x.what) || !json.Valid([]byte(got.body)) {
			t.Errorf("%d bytes (%.60s): %d %.300s, want %d %s", len(x.body), x.body, got.StatusCode, got.body, x.status, x.what)
		}
	}
}
