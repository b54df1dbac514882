package cdp

import (
	"net/url"
	"strings"
)

// toolsAllowed decides by the policy-controlled feature "tools" whether the
// document in a frame may have tools. Its default is the origin of the document
// that holds the frame; the frame's attribute allow says otherwise (Permissions
// Policy, "define an inherited policy for a feature in a container at an origin").
func toolsAllowed(attributes map[string]string, origin, parent string) bool {
	if origin == "null" {
		return false
	}
	list, declared := toolsDirective(attributes["allow"])
	if !declared {
		return origin == parent
	}
	for _, entry := range list {
		switch strings.ToLower(entry) {
		case "*":
			return true
		case "'none'":
		case "'self'":
			if origin == parent {
				return true
			}
		case "'src'":
			if origin == sourceOrigin(attributes, parent) {
				return true
			}
		default:
			if origin == originOf(entry) {
				return true
			}
		}
	}
	return false
}

// toolsDirective returns the allow list of "tools" in an attribute allow. Without a
// list it is the origin of the frame's attribute src.
func toolsDirective(allow string) (list []string, declared bool) {
	for directive := range strings.SplitSeq(allow, ";") {
		words := strings.Fields(directive)
		if len(words) == 0 || !strings.EqualFold(words[0], "tools") {
			continue
		}
		if len(words) == 1 {
			return []string{"'src'"}, true
		}
		return words[1:], true // the first one counts
	}
	return nil, false
}

// sourceOrigin is the origin that a frame's attributes name.
func sourceOrigin(attributes map[string]string, parent string) string {
	src := strings.TrimSpace(attributes["src"])
	if _, inline := attributes["srcdoc"]; inline || src == "" {
		return parent
	}
	base, err := url.Parse(parent + "/")
	if err != nil {
		return ""
	}
	u, err := base.Parse(src)
	if err != nil {
		return ""
	}
	if u.Scheme == "about" {
		return parent
	}
	return originOf(u.String())
}

// originOf is the origin of an address, "" when it has none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	scheme := strings.ToLower(u.Scheme)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + host
}
