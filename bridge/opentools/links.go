package opentools

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// maxLinks bounds the links that are followed.
const maxLinks = 3

// linksOf are the addresses of service-desc in headers (RFC 8288).
func linksOf(headers []string) (refs []string) {
	for _, h := range headers {
		for part := range strings.SplitSeq(h, ",") {
			address, params, ok := strings.Cut(strings.TrimSpace(part), ">")
			if !ok || !strings.HasPrefix(address, "<") || len(refs) == maxLinks {
				continue
			}
			for p := range strings.SplitSeq(params, ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
				if strings.EqualFold(name, "rel") && isServiceDesc(strings.Trim(value, `"`)) {
					refs = append(refs, address[1:])
				}
			}
		}
	}
	return refs
}

func isServiceDesc(rel string) bool {
	return slices.ContainsFunc(strings.Fields(rel), func(one string) bool { return strings.EqualFold(one, "service-desc") })
}

// linksIn are the addresses of service-desc in a page.
func linksIn(page []byte) (refs []string) {
	z := html.NewTokenizer(bytes.NewReader(page[:min(len(page), 1<<20)]))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return refs
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		t := z.Token()
		if t.Data != "link" || len(refs) == maxLinks {
			continue
		}
		var rel, href string
		for _, a := range t.Attr {
			switch a.Key {
			case "rel":
				rel = a.Val
			case "href":
				href = a.Val
			}
		}
		if isServiceDesc(rel) && href != "" {
			refs = append(refs, href)
		}
	}
}
