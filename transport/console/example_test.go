package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// A call stops for consent, and an operator answers it over the console's API.
func ExampleFace() {
	b, err := bridge.New(bridgetest.NewRouter().Add("shop", bridgetest.Asking("buy", "")), bridge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	ctx := context.Background()
	in, err := bridge.ReadValue("arguments", json.RawMessage(`{"item":"tea"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	run := b.Start(ctx, &bridge.Call{Site: "shop", Tool: "buy", Caller: bridge.Local(), Input: in})
	question, _ := run.Next(ctx)

	operator := bridge.Caller{Name: "operator", May: []bridge.Right{bridge.MayAnswer}}
	h := transport.Trusted(transport.NewMux(console.New(b, console.Options{}).Routes()...), operator, transport.Options{})
	r := httptest.NewRequest(http.MethodPost, "/api/questions/"+question.ID, strings.NewReader(`{"ok":true}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	_, step := run.Next(ctx)
	fmt.Println(question.Title, w.Code, string(step.Data))
	// Output: Run buy on shop? 200 {"item":"tea"}
}
