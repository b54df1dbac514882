package webtool_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/webtool"
)

// broken is a connection that is gone, which nobody knows before something is written.
type broken struct{ *httptest.ResponseRecorder }

func (*broken) FlushError() error { return errors.New("the connection is gone") }

// TestReplyThatIsNotWritten (B10): a final reply that could not be written spends no token:
// its caller comes back for it, once.
func TestReplyThatIsNotWritten(t *testing.T) {
	w := newWorld(t, bridge.Options{})
	mux := transport.NewMux(webtool.New(w.bridge, webtool.Options{}).Routes()...)
	trusted := transport.Trusted(mux, bridge.Local(), transport.Options{})
	post := func(config string, gone bool) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/webtools/shop", strings.NewReader(`{"action":"buy","request":{},"config":`+config+`}`))
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		if gone {
			trusted.ServeHTTP(&broken{rec}, r)
		} else {
			trusted.ServeHTTP(rec, r)
		}
		return rec
	}
	token := post(`{}`, false).Header().Get("Pagetools-Resume")
	person := bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}
	for _, q := range bridgetest.Questions(w.bridge, person) {
		if err := w.bridge.Answer(person, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
	}
	config := `{"resume":"` + token + `","wait":10000}`
	for _, c := range []struct {
		gone   bool
		status int
	}{{true, 200}, {false, 200}, {false, 404}} {
		if got := post(config, c.gone); got.Code != c.status {
			t.Errorf("gone %v: %d %s, want %d", c.gone, got.Code, got.Body, c.status)
		}
	}
}

// TestChangedArguments: the reply to a call that ran with a person's arguments says so, that to a refusal has their
// reason; where the older dialect could not say it, they cannot be changed.
func TestChangedArguments(t *testing.T) {
	w := newWorld(t, bridge.Options{})
	trusted := transport.Trusted(transport.NewMux(webtool.New(w.bridge, webtool.Options{}).Routes()...), bridge.Local(), transport.Options{})
	post := func(body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/webtools/shop", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		trusted.ServeHTTP(rec, r)
		return rec
	}
	person := bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}
	changed := bridge.Amendment{Input: bridgetest.JSON(`{"n": 2}`)}
	for _, x := range []struct{ body, resumed, want string }{
		{`{"action":"buy","request":{"n":1}}`, `{"action":"buy","request":{"n":1},"config":{"resume":"TOKEN","wait":10000}}`,
			`{"status":"ok","data":{"n": 2},"details":{"changed":{"by":"person","input":{"n":2}}}}`},
		{`{"action":"buy","payload":{"n":1}}`, "", ""},
	} {
		token := post(x.body).Header().Get("Pagetools-Resume")
		q := bridgetest.Questions(w.bridge, person)[0]
		if err := bridge.AnswerWith(w.bridge, person, q.ID, bridge.Answer{OK: true}, changed); (err == nil) != (x.resumed != "") || q.Edit != (x.resumed != "") {
			t.Fatalf("%s: %v, %v", x.body, err, q.Edit)
		}
		if x.resumed == "" {
			if err := bridge.AnswerWith(w.bridge, person, q.ID, bridge.Answer{}, bridge.Amendment{Reason: "no"}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got := post(strings.Replace(x.resumed, "TOKEN", token, 1)).Body.String(); got != x.want {
			t.Errorf("got %s", got)
		}
	}
	token := post(`{"action":"buy","request":{}}`).Header().Get("Pagetools-Resume")
	if err := bridge.AnswerWith(w.bridge, person, bridgetest.Questions(w.bridge, person)[0].ID, bridge.Answer{}, bridge.Amendment{Reason: "ask me first"}); err != nil {
		t.Fatal(err)
	}
	if got := post(`{"action":"buy","request":{},"config":{"resume":"` + token + `","wait":10000}}`).Body.String(); !strings.Contains(got, `"reason":"ask me first"`) {
		t.Errorf("refused: %s", got)
	}
}

// TestClientThatLeavesWithItsReply: what was written is told, also to a client that closes its
// connection as soon as it has read it.
func TestClientThatLeavesWithItsReply(t *testing.T) {
	w := newWorld(t, bridge.Options{})
	mux := transport.NewMux(webtool.New(w.bridge, webtool.Options{}).Routes()...)
	trusted := transport.Trusted(mux, bridge.Local(), transport.Options{})
	post := func(config string) *httptest.ResponseRecorder {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/webtools/shop", strings.NewReader(`{"action":"buy","request":{},"config":`+config+`}`))
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		trusted.ServeHTTP(leaving{rec, leave}, r)
		return rec
	}
	token := post(`{}`).Header().Get("Pagetools-Resume")
	person := bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}
	for _, q := range bridgetest.Questions(w.bridge, person) {
		if err := w.bridge.Answer(person, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, status := range []int{http.StatusOK, http.StatusNotFound} {
		if got := post(`{"resume":"` + token + `","wait":10000}`); got.Code != status {
			t.Errorf("%d %s, want %d", got.Code, got.Body, status)
		}
	}
}

// leaving is the connection of a client that closes it when a reply was written.
type leaving struct {
	*httptest.ResponseRecorder

	leave func()
}

func (l leaving) FlushError() error {
	l.leave()
	return nil
}

// TestDocumentsCount (B10): documents count against the rate of their caller.
func TestDocumentsCount(t *testing.T) {
	w := newWorld(t, bridge.Options{Rates: map[string]policy.Rate{"local": {N: 3, Per: time.Hour}}})
	for i, path := range []string{"/webtools", "/webtools/shop", "/webtools/shop/actions/add", "/webtools", "/webtools/shop"} {
		want := http.StatusOK
		if i >= 3 {
			want = http.StatusTooManyRequests
		}
		if r := w.get(t, path); r.StatusCode != want || (r.Header.Get("Retry-After") != "") != (i >= 3) {
			t.Errorf("the request %d, for %s: %d %s", i, path, r.StatusCode, r.body)
		}
	}
}
