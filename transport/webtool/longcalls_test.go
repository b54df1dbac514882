package webtool_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport/webtool"
)

// TestForms: a long call is read with the reply that its request would have got, in both dialects
// and for each webtool.
func TestForms(t *testing.T) {
	w := newWorld(t, bridge.Options{})
	ids := regexp.MustCompile(`"call":"[A-Z2-7]+"`)
	for _, x := range []struct {
		path, body string
		data       string
		err        error
	}{
		{"/webtools/shop", `{"action":"add","request":{}}`, `{"n":1}`, nil},
		{"/webtools/shop", `{"action":"add","payload":{}}`, `{"n":1}`, nil},
		{"/webtools/shop/actions/count", `{"request":{}}`, `{"m":1}`, nil},
		{"/webtools/shop/actions/count", `{"payload":{}}`, `{"m":1}`, nil},
		{"/webtools/shop", `{"action":"add","request":{}}`, "", bridge.Errorf(bridge.ToolError, "", bridge.Failed, "Not today.")},
		{"/webtools/shop", `{"action":"add","payload":{}}`, "", bridge.Errorf(bridge.ToolError, "", bridge.Failed, "Not today.")},
		{"/webtools/shop", `{"action":"add","request":{}}`, "", bridge.Errorf(bridge.InternalError, bridge.Timeout, bridge.Unknown, "Too slow.")},
		{"/webtools/shop", `{"action":"add","payload":{}}`, "", unknownAction()},
		{"/webtools/shop/actions/add", `{"payload":{}}`, "", unknownAction()},
		{"/webtools/shop", `{"action":"add","request":{}}`, "", unknownAction()},
	} {
		w.Answer("shop", x.data, x.err)
		plain := w.post(t, x.path, x.body)

		goOn := make(chan struct{})
		w.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
			<-goOn
			if e, ok := errors.AsType[*bridge.Error](x.err); ok {
				return e.Step()
			}
			return bridge.Step{Data: json.RawMessage(x.data)}
		})
		r := w.post(t, x.path, x.body, "Prefer: respond-async")
		if r.StatusCode != http.StatusAccepted {
			t.Fatalf("%s %s: %d %s", x.path, x.body, r.StatusCode, r.body)
		}
		c, err := w.bridge.LongCall(bridge.Local(), strings.TrimPrefix(r.Header.Get("Location"), "/calls/"))
		if err != nil {
			t.Fatal(err)
		}
		close(goOn)
		s, changed := c.State()
		for ; !s.IsOver(); s, changed = c.State() {
			<-changed
		}
		status, reply := webtool.Forms()[s.Form](r.Request, s.End)
		without := func(text string) string { return ids.ReplaceAllString(text, `"call":"…"`) }
		if status != plain.StatusCode || without(string(reply)) != without(plain.body) {
			t.Errorf("%s %s: %d %s\nwant %d %s", x.path, x.body, status, reply, plain.StatusCode, plain.body)
		}
	}
}

// unknownAction is the error of a tool that is there no more.
func unknownAction() *bridge.Error {
	return bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "There is no such action.").
		Detail("reason", "action").Detail("actions", []string{"count"})
}
