package console_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// dying answers that it has a question, and ends when it gets the answer.
type dying struct{}

func (dying) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		return nil, errors.New("the connection ended")
	}
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusOK)
	return w.Result(), nil
}

// TestAnswersThatAreLost (N2): of an answer to a process that ended meanwhile nobody says that it
// did nothing.
func TestAnswersThatAreLost(t *testing.T) {
	b, err := bridge.New(bridgetest.NewRouter().Add("shop", bridgetest.Asking("buy", "")), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	face := console.New(b, console.Options{Peers: func() map[string]http.RoundTripper { return map[string]http.RoundTripper{"there": dying{}} }})
	h := transport.Trusted(transport.NewMux(face.Routes()...), person, transport.Options{})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/questions/THERE", strings.NewReader(`{"ok":true}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if body := w.Body.String(); w.Code != http.StatusConflict || !strings.Contains(body, `"outcome":"unknown"`) || !strings.Contains(body, "may have taken") {
		t.Errorf("%d %s", w.Code, body)
	}
}
