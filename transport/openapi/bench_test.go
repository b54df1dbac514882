package openapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/openapi"
)

// BenchmarkDocument reads the document of 256 tools, which has not changed; the goal is 2 ms.
func BenchmarkDocument(b *testing.B) {
	var tools []bridge.Declaration
	for i := range 256 {
		tools = append(tools, bridgetest.Tool(fmt.Sprint("tool", i),
			`{"type":"object","properties":{"q":{"$ref":"#/$defs/word"},"n":{"type":"integer","description":"How many."}},"$defs":{"word":{"type":"string"}}}`))
	}
	br, err := bridge.New(bridgetest.NewRouter().Add("shop", tools...), bridge.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer br.Close()
	h := transport.Guard(transport.NewMux(openapi.New(br, openapi.Options{}).Routes()...), transport.Options{Listen: "127.0.0.1:80"})
	for b.Loop() {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/openapi.json", nil)
		r.Host = "127.0.0.1:80"
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}
