package transport_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/pagetools/pagetools/transport"
)

// Routes stand behind the guards, which refuse a page of another name that resolves to
// this machine.
func ExampleGuard() {
	mux := transport.NewMux(transport.Route{Pattern: "/hello/{name}", Methods: map[string]http.HandlerFunc{
		http.MethodGet: func(w http.ResponseWriter, r *http.Request) {
			transport.WriteJSON(w, r, http.StatusOK, map[string]string{"hello": r.PathValue("name")})
		},
	}})
	h := transport.Guard(mux, transport.Options{Listen: "127.0.0.1:7300"})
	for _, host := range []string{"127.0.0.1:7300", "rebound.example:7300"} {
		r := httptest.NewRequest(http.MethodGet, "/hello/Ada", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body.String()[:15])
	}
	// Output:
	// 200 {"hello":"Ada"}
	// 403 {"status":"erro
}
