package schema_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
)

// TestConcealed: however a program writes a secret for another one, it is masked; what only looks
// like it is not.
func TestConcealed(t *testing.T) {
	t.Parallel()
	const secret, pin, card = `p&ss "wörd/'<1>`, "8642", "4111111111111111"
	const precise = "12345.0"
	c := schema.Conceal([]string{secret, pin, card, precise, "7"})
	quoted := string(schema.MustEncode(secret))
	marshaled, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("anna:" + secret))
	for _, shown := range []string{
		secret, "a" + secret + "b", quoted, string(marshaled), string(schema.MustEncode(quoted)),
		`p&ss \"w\u00f6rd\/'<1>`,
		html.EscapeString(secret), "p&amp;ss &quot;wörd/&#x27;&lt;1&gt;", "p&amp;ss \"wörd/'&lt;1&gt;",
		string(schema.MustEncode("<b>p&amp;ss \"wörd/'&lt;1&gt;</b>")),
		url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(url.QueryEscape(secret)),
		"p%26ss%20%22w%C3%B6rd%2F'%3C1%3E", url.QueryEscape(url.QueryEscape(secret)),
		hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte("x" + secret)),
		"8642", "8,642", "8.642", "8 642", "8\u202f642", "the pin is 8642.",
		"4111 1111 1111 1111", "4111-1111-1111-1111", "12345.0", "12345", "12,345",
	} {
		if got := c.In(shown); got == shown || !strings.Contains(got, schema.Masked) || !c.Shows(shown) {
			t.Errorf("%s: %s", shown, got)
		}
	}
	if got := c.In("Basic " + basic); strings.Contains(got, basic[8:]) || !strings.HasPrefix(got, "Basic YW5u") {
		t.Errorf("%s: %s", basic, got)
	}
	for _, plain := range []string{"", "anna", "7", "864", "4111", "p&ss", "1234", "wörd", "***"} {
		if c.Shows(plain) {
			t.Errorf("%s is masked", plain)
		}
	}
	if none := schema.Conceal(nil); none.Shows(secret) || (&schema.Concealer{}).Shows(secret) {
		t.Error("no secret is masked")
	}
}
