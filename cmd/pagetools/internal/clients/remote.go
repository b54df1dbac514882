package clients

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Remote describes a client that runs in a cloud. It reaches servers at public addresses, and
// starts none.
type Remote struct {
	where string // what is printed belongs there
	// request returns the part of an API's request that names the server. Nil: a person pastes the
	// URL alone.
	request func(s Server, token string) any
	// login is true when the client sends no token that a person wrote down.
	login bool
}

// fits refuses a server that the client cannot reach.
func (r *Remote) fits(title string, s Server) error {
	u, err := url.Parse(s.URL)
	if s.URL == "" || err != nil || u.Scheme != "https" || origin.Loopback(u.Hostname()) {
		return fmt.Errorf("%s starts nothing on this machine, and reaches only servers with a public https "+
			"address: let `pagetools serve` run behind one, which public-url in its configuration file or "+
			"--public-url names, or name a server with --http, as https://tools.example/mcp", title)
	}
	return nil
}

// Advice says what to do with what is printed.
func (r *Remote) Advice(s Server) []string {
	advice := []string{"it belongs " + r.where}
	switch {
	case r.login && s.SignIn:
		advice = append(advice, "leave the client id and the secret empty; connect, and a page of your server opens: it "+
			"asks for the code that `pagetools pair` shows on the machine where `pagetools serve` runs")
	case r.login && len(s.Issuers) > 0:
		advice = append(advice, "it sends people to "+text.Line(strings.Join(s.Issuers, " or "))+" to log in: leave "+
			"the client id empty, or use one that you made there with the address that it shows as redirect URI")
	case s.Token && r.login:
		advice = append(advice, "oauth is missing: it sends no token that you write down, and the server asks for "+
			"one. Start it with `pagetools serve --public-url "+originOf(s.URL)+" --sign-in`, and it lets people log "+
			"in with a code; or name an issuer under oauth in the configuration file")
	case s.Token && len(s.Issuers) > 0:
		advice = append(advice, "put an access token of "+text.Line(strings.Join(s.Issuers, " or "))+" for "+s.URL+
			", or a token of callers, in the place of "+tokenPlace)
	case s.Token:
		advice = append(advice, "put the server's token in the place of "+tokenPlace)
	}
	return advice
}

// originOf returns the address that people and hosts use, of a server at a URL that fits.
func originOf(address string) string { return text.Line(origin.Of(address)) }

// tokenPlace stands for the token, which is never printed.
const tokenPlace = "${" + TokenVariable + "}"

// snippet returns what a person pastes.
func (r *Remote) snippet(s Server) string {
	if r.request == nil {
		return s.URL + "\n"
	}
	token := ""
	if s.Token {
		token = tokenPlace
	}
	out, err := json.MarshalIndent(json.RawMessage(text.Escape(string(schema.MustEncode(r.request(s, token))))), "", "  ")
	if err != nil { // it is JSON that we made
		panic(err)
	}
	return string(out) + "\n"
}

func openAIRequest(s Server, token string) any {
	type tool struct {
		Type     string `json:"type"`
		Label    string `json:"server_label"`
		URL      string `json:"server_url"`
		Token    string `json:"authorization,omitempty"`
		Approval string `json:"require_approval"`
	}
	return map[string]any{"tools": []tool{{"mcp", s.Name, s.URL, token, "always"}}}
}

func anthropicRequest(s Server, token string) any {
	type server struct {
		Type  string `json:"type"`
		URL   string `json:"url"`
		Name  string `json:"name"`
		Token string `json:"authorization_token,omitempty"`
	}
	type tools struct {
		Type string `json:"type"`
		Name string `json:"mcp_server_name"`
	}
	return struct {
		Servers []server `json:"mcp_servers"`
		Tools   []tools  `json:"tools"`
	}{[]server{{"url", s.URL, s.Name, token}}, []tools{{"mcp_toolset", s.Name}}}
}

func geminiRequest(s Server, token string) any {
	type tool struct {
		Type    string            `json:"type"`
		Name    string            `json:"name"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	t := tool{Type: "mcp_server", Name: s.Name, URL: s.URL}
	if token != "" {
		t.Headers = map[string]string{"Authorization": "Bearer " + token}
	}
	return map[string]any{"tools": []tool{t}}
}
