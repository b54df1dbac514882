package webtool_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/webtool"
)

// A call to the webtool of a site. Any bridge.Router takes the place of the scripted one.
func ExampleFace() {
	b, err := bridge.New(bridgetest.NewRouter().Add("shop", bridgetest.Tool("echo", "")), bridge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	h := transport.Guard(transport.NewMux(webtool.New(b, webtool.Options{}).Routes()...), transport.Options{Listen: "127.0.0.1:7300"})
	r := httptest.NewRequest(http.MethodPost, "/webtools/shop", strings.NewReader(`{"action":"echo","request":{"a":1}}`))
	r.Host = "127.0.0.1:7300"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"status":"ok","data":{"a":1}}
}
