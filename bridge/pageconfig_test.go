package bridge_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestPageConfigIsChecked: kinds and ranges of what changes a page are checked here,
// at the limit and one past it; nothing after the bridge looks at them again.
func TestPageConfigIsChecked(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", "")), bridge.SiteOptions{AllowConfig: bridge.PageKeys()})
	headers := func(n int) string {
		all := map[string]string{}
		for i := range n {
			all["X-"+strconv.Itoa(i)] = "v"
		}
		text, _ := json.Marshal(map[string]any{"headers": all}) // of strings: cannot fail
		return string(text)
	}
	cookies := func(n int) string {
		return `{"cookies":[` + strings.TrimSuffix(strings.Repeat(`{"name":"a","value":"b"},`, n), ",") + `]}`
	}
	for config, ok := range map[string]bool{
		`{"viewport":{"width":10000,"height":1}}`:                      true,
		`{"viewport":{"width":10001,"height":1}}`:                      false,
		`{"viewport":{"width":1,"height":0}}`:                          false,
		`{"viewport":{"width":1.5,"height":1}}`:                        false,
		`{"viewport":{"width":1,"height":1,"deviceScaleFactor":10}}`:   true,
		`{"viewport":{"width":1,"height":1,"deviceScaleFactor":10.1}}`: false,
		`{"viewport":{"width":1,"height":1,"deviceScaleFactor":0}}`:    false,
		`{"geolocation":{"latitude":-90,"longitude":180}}`:             true,
		`{"geolocation":{"latitude":90.1,"longitude":0}}`:              false,
		`{"geolocation":{"latitude":0,"longitude":-180.1}}`:            false,
		`{"geolocation":{"latitude":0,"longitude":0,"accuracy":-1}}`:   false,
		`{"colorScheme":"no-preference"}`:                              true,
		`{"colorScheme":"Light"}`:                                      false,
		`{"userAgent":"` + strings.Repeat("a", 512) + `"}`:             true,
		`{"userAgent":"` + strings.Repeat("a", 513) + `"}`:             false,
		`{"cookies":[{"name":"a","value":"b","sameSite":"lax"}]}`:      false,
		cookies(180): true,
		cookies(181): false, headers(64): true, headers(65): false,
		`{"path":"//evil.example/"}`: false,
		`{"basicAuth":{"user":"a"}}`: false,
	} {
		_, e := do(t, b, "a", `{}`, config)
		if (e == nil) != ok || e != nil && e.Code != bridge.ConfigError {
			t.Errorf("%s: %v", config, e)
		}
	}
}
