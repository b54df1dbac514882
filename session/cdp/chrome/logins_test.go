package chrome

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLoginsOfProfiles: the settings of a profile say that nobody is asked for a login, as long as
// nobody sees the browser, and what else they say stays.
func TestLoginsOfProfiles(t *testing.T) {
	t.Parallel()
	const proxy = "127.0.0.1:4711"
	for name, row := range map[string]struct {
		kind         Kind
		headful      bool
		before, want string
	}{
		"new":                  {Chromium, false, "", `{"auth":{"http_auth_allowed_for_origins":["127.0.0.1:4711"],"schemes":""}}`},
		"kept":                 {Chromium, false, `{"b":{"n":12345678901234567890},"auth":{"x":1}}`, `{"auth":{"http_auth_allowed_for_origins":["127.0.0.1:4711"],"schemes":"","x":1},"b":{"n":12345678901234567890}}`},
		"of another proxy":     {Chromium, false, `{"auth":{"http_auth_allowed_for_origins":["127.0.0.1:1"],"schemes":""}}`, `{"auth":{"http_auth_allowed_for_origins":["127.0.0.1:4711"],"schemes":""}}`},
		"with a window":        {Chromium, true, "", ""},
		"with a window again":  {Chromium, true, `{"a":1,"auth":{"http_auth_allowed_for_origins":[],"schemes":"","x":1}}`, `{"a":1,"auth":{"x":1}}`},
		"of the shell":         {Shell, false, "", ""},
		"that cannot be read":  {Chromium, false, "{", "error"},
		"of which a part is x": {Chromium, false, `{"auth":"x"}`, "error"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, stateName)
		if row.before != "" {
			if err := os.WriteFile(path, []byte(row.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		o := &Options{Headful: row.headful, ProxyServer: proxy}
		if err := o.answersLogins(row.kind, dir); (err != nil) != (row.want == "error") {
			t.Errorf("%s: %v", name, err)
		} else if err != nil {
			continue
		}
		if got, _ := os.ReadFile(path); string(got) != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}
