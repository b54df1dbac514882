package oauth

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
)

// TestMixUp (RFC 9700 4.4): a document that names the login of one server and the token endpoint of
// another gets no code of it: neither where the first says where codes go, nor where it says who it
// is.
func TestMixUp(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		token  string // "" is the honest one's
		hidden bool   // the honest one has no metadata
		iss    string
		want   string
	}{
		"honest":               {"", false, "", ""},
		"honest and hidden":    {"", true, "", ""},
		"honest, and says so":  {"", true, "honest", ""},
		"another's":            {"/token", false, "", "which is not where"},
		"hidden, and says so":  {"/token", true, "honest", "of another authorization server"},
		"another, and says so": {"", true, "https://mallory.example", "of another authorization server"},
	} {
		w, f := newFakeWorld(t)
		mallory := newFake(t)
		mallory.places = []string{}
		f.says["registration_endpoint"] = nil
		if test.hidden {
			f.places = []string{}
		}
		token := f.URL + "/token"
		if test.token != "" {
			token = mallory.URL + test.token
		}
		f.back = func(v url.Values) {
			if v.Del("iss"); test.iss == "honest" {
				v.Set("iss", f.URL)
			} else if test.iss != "" {
				v.Set("iss", test.iss)
			}
		}
		// The API itself names nobody.
		api := newFake(t)
		api.places = []string{}
		w.scheme.Object = json.RawMessage(fmt.Sprintf(`{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":%q,"tokenUrl":%q}}}`, f.URL+"/authorize", token))
		w.target = targetOf(t, api.URL, []Scheme{w.scheme})
		_, err := w.keeper.Login(t.Context(), w.target, Login{Scheme: w.scheme, ClientID: "mine", Show: visitor(t)})
		wants(t, what, err, test.want)
		if n := mallory.count("/token"); n > 0 {
			t.Errorf("%s: the code was sent", what)
		}
	}
}
