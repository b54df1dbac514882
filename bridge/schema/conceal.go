package schema

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// ShortestSecret is the length in bytes from which a secret is looked for inside other texts: a
// shorter one is part of too many.
const ShortestSecret = 3

// What of a secret counts only from some length on: its digits apart, and its bytes as base64.
const (
	shortestDigits = 4
	shortestBase64 = 6
)

// Concealer masks secrets in texts, also where a program has written them for another: in JSON,
// HTML, an address, base64 or hexadecimal, and numbers with their digits in groups. The zero value
// masks nothing. It is safe for concurrent use.
type Concealer struct {
	forms   *strings.Replacer
	grouped *regexp.Regexp
}

// Conceal returns what masks these texts and numbers, which are as [Value.Leaves] has them.
func Conceal(secrets []string) *Concealer {
	var forms, grouped []string
	for _, secret := range secrets {
		for _, one := range []string{secret, inFull(secret)} {
			for _, form := range formsOf(one) {
				if !slices.Contains(forms, form) {
					forms = append(forms, form)
				}
			}
			if digits := digitsOf(one); digits != "" {
				grouped = append(grouped, digits)
			}
		}
	}
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) }) // one may hold another
	c := &Concealer{}
	if len(forms) > 0 {
		var pairs []string
		for _, form := range forms {
			pairs = append(pairs, form, Masked)
		}
		c.forms = strings.NewReplacer(pairs...)
	}
	if len(grouped) > 0 {
		c.grouped = regexp.MustCompile(strings.Join(grouped, "|"))
	}
	return c
}

// In returns a text with [Masked] in the place of each secret.
func (c *Concealer) In(text string) string {
	if c.forms != nil {
		text = c.forms.Replace(text)
	}
	if c.grouped != nil {
		text = c.grouped.ReplaceAllString(text, Masked)
	}
	return text
}

// Shows reports whether a text has a secret in it.
func (c *Concealer) Shows(text string) bool { return c.In(text) != text }

// inFull returns a number as a page writes what it got, or "".
func inFull(secret string) string {
	f, err := strconv.ParseFloat(secret, 64)
	if err != nil || !json.Valid([]byte(secret)) {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// digitsOf returns a pattern of the digits of a number, in groups of any size; "" without enough
// digits.
func digitsOf(secret string) string {
	if len(secret) < shortestDigits || strings.Trim(secret, "0123456789") != "" {
		return ""
	}
	return strings.Join(strings.Split(secret, ""), `[ ,.'_\x{a0}\x{2009}\x{202f}-]?`)
}

// formsOf returns how programs write a text that is long enough to be looked for.
func formsOf(secret string) []string {
	if len(secret) < ShortestSecret {
		return nil
	}
	all := append([]string{secret}, markedUp(secret)...)
	for _, form := range all[:len(all):len(all)] { // markup in JSON, and JSON in JSON
		quoted := inJSON(form)
		slashes := strings.ReplaceAll(quoted, "/", `\/`)
		for _, once := range []string{quoted, slashes, inASCII(quoted), inASCII(slashes), angular.Replace(quoted)} {
			all = append(all, once, inJSON(once))
		}
	}
	for _, form := range inAddress(secret) {
		all = append(all, form, percentLower(form))
		twice := url.QueryEscape(form)
		all = append(all, twice, percentLower(twice))
	}
	if raw := hex.EncodeToString([]byte(secret)); len(secret) >= shortestDigits {
		all = append(all, raw, strings.ToUpper(raw))
	}
	return append(all, inBase64(secret)...)
}

// inJSON returns a text as JSON has it between quotes.
func inJSON(text string) string {
	quoted := string(MustEncode(text))
	return quoted[1 : len(quoted)-1]
}

// angular escapes in JSON what begins markup.
var angular = strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`)

// inASCII escapes what is not ASCII, as some writers of JSON do.
func inASCII(quoted string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(quoted)) {
		if unit < 0x80 {
			b.WriteByte(byte(unit))
			continue
		}
		b.WriteString(`\u`)
		b.WriteString(strconv.FormatUint(uint64(unit)+0x10000, 16)[1:])
	}
	return b.String()
}

// markedUp returns a text as HTML and XML have it, where it needs to be escaped.
func markedUp(text string) (all []string) {
	plain := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\u00a0", "&nbsp;").Replace(text)
	named := strings.ReplaceAll(plain, `"`, "&quot;")
	for _, apostrophe := range []string{"'", "&#39;", "&#x27;", "&#039;", "&apos;"} {
		all = append(all, strings.ReplaceAll(named, "'", apostrophe))
	}
	return append(all, plain, html.EscapeString(text))
}

// inBrowser makes of what Go escapes for a query what a browser's encodeURIComponent does.
var inBrowser = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// inAddress returns a text as a query, a path and a form have it.
func inAddress(text string) []string {
	query := url.QueryEscape(text)
	return []string{query, strings.ReplaceAll(query, "+", "%20"), inBrowser.Replace(query),
		strings.ReplaceAll(query, "%2A", "*"), url.PathEscape(text)}
}

var percented = regexp.MustCompile("%[0-9A-F]{2}")

func percentLower(escaped string) string {
	return percented.ReplaceAllStringFunc(escaped, strings.ToLower)
}

// inBase64 returns the characters of base64 that depend on the secret alone, whatever is before and
// behind it, as in user:password.
func inBase64(secret string) (all []string) {
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, before), secret...))
		first := 0
		if before > 0 {
			first = before + 1
		}
		form := encoded[first : (before+len(secret))*8/6]
		if len(form) >= shortestBase64 {
			all = append(all, form, strings.NewReplacer("+", "-", "/", "_").Replace(form))
		}
	}
	return all
}
