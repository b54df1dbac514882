package suite_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// TestInstallLinks (D11): the links of README.md that add a server to a client with one
// click name the address at which `demo` serves MCP.
func TestInstallLinks(t *testing.T) {
	t.Parallel()
	w := newReader(t)
	defer w.end()
	w.run("bin/pagetools demo\n", 0)
	clients := 0
	for _, match := range inlineLink.FindAllStringSubmatch(documents(t)["README.md"], -1) {
		link, err := url.Parse(match[1])
		if err != nil || !strings.Contains(link.Path, "install") {
			continue
		}
		clients++
		config := []byte(link.Query().Get("config"))
		if decoded, err := base64.StdEncoding.DecodeString(string(config)); err == nil { // Cursor's
			config = decoded
		}
		var entry struct{ URL string }
		if err := json.Unmarshal(config, &entry); err != nil || link.Query().Get("name") == "" {
			t.Fatalf("%s: %v", match[1], err)
		}
		w.connect(link.Host, "", nil, w.ours(entry.URL))
	}
	if clients != 2 {
		t.Errorf("there are %d links", clients)
	}
}
