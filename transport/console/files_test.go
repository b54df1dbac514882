package console_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport/console"
)

// TestFilesInQuestions: the card of a question gets a file's name, type, size and SHA-256, and none
// of its bytes.
func TestFilesInQuestions(t *testing.T) {
	w := open(t, person)
	w.Router.Declare("shop", bridgetest.Asking("buy", `{"type":"object","properties":{"f":{"type":"object","properties":{"name":{"type":"string"},"type":{"type":"string"},"data":{"type":"string","contentEncoding":"base64"}}}}}`))
	const plans = "the secret plans"
	data, sum := base64.StdEncoding.EncodeToString([]byte(plans)), sha256.Sum256([]byte(plans))
	_, s := w.Serve(t.Context(), &bridge.Call{Site: "shop", Tool: "buy", Caller: bridge.Local(), Input: bridgetest.JSON(`{"f":{"name":"plan.txt","type":"text/plain","data":"` + data + `"}}`)})
	if s.Err == nil || s.Err.Code != bridge.ApprovalRequired {
		t.Fatalf("nobody is asked: %v", s.Err)
	}
	_, body := w.do(t, http.MethodGet, "/api/questions/", "")
	var list console.Questions
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Questions) != 1 {
		t.Fatal(body)
	}
	var shown struct {
		F struct{ Name, Type, Data string }
	}
	if err := json.Unmarshal(list.Questions[0].Input, &shown); err != nil || shown.F.Name != "plan.txt" || shown.F.Type != "text/plain" ||
		!strings.Contains(shown.F.Data, "16 bytes") || !strings.Contains(shown.F.Data, hex.EncodeToString(sum[:])) {
		t.Errorf("the card has %s", list.Questions[0].Input)
	}
	if strings.Contains(body, data) {
		t.Error("the card has the bytes")
	}
}
