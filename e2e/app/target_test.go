package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"shop", "a=b", "Up", "www.example", "empty"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir == "empty" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "index.html"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		arg                       string
		name, url, origin, folder string
		problem                   string // part of the error
	}{
		{arg: "https://shop.example", url: "https://shop.example", origin: "https://shop.example"},
		{arg: "HTTPS://Shop.Example:443/a?b=c#d", url: "https://Shop.Example:443/a?b=c#d", origin: "https://shop.example"},
		{arg: "http://[::1]:8080/", url: "http://[::1]:8080/", origin: "http://[::1]:8080"},
		{arg: "shop=https://shop.example/", name: "shop", url: "https://shop.example/", origin: "https://shop.example"},
		{arg: "a_1=https://x.example/?q=1", name: "a_1", url: "https://x.example/?q=1", origin: "https://x.example"},
		{arg: "shop", folder: "shop"},
		{arg: "./shop/", folder: "./shop/"},
		{arg: "mine=shop", name: "mine", folder: "shop"},
		{arg: "./a=b", folder: "./a=b"},
		{arg: "a=b", problem: "there is no folder b, and it is not an http(s) URL"},
		{arg: "shop=", problem: "neither"},
		{arg: "Shop=shop", problem: "neither"},
		{arg: "1shop=shop", problem: "neither"},
		{arg: strings.Repeat("a", 33) + "=shop", problem: "neither"},
		{arg: strings.Repeat("a", 32) + "=shop", name: strings.Repeat("a", 32), folder: "shop"},
		{arg: "", problem: "empty"},
		{arg: "empty", problem: "no index.html"},
		{arg: "shop/index.html", problem: "not a folder"},
		{arg: "ftp://x.example/", problem: "only http and https"},
		{arg: "file:///etc/passwd", problem: "only http and https"},
		{arg: "chrome://version", problem: "only http and https"},
		{arg: "javascript:alert(1)", problem: "not an http(s) URL"},
		{arg: "https://", problem: "no host"},
		{arg: "https:///x", problem: "no host"},
		{arg: "https://%zz/", problem: "is not a URL"},
		{arg: "http://x.example:65536/", problem: "more than 65535"},
		{arg: "--remote-debugging-port=1", problem: "neither"},
	}
	for _, test := range tests {
		got, err := ParseTarget(test.arg)
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("ParseTarget(%q): %v, want a complaint with %q", test.arg, err, test.problem)
			}
			continue
		}
		if err != nil || got.Name != test.name || got.URL != test.url || got.Origin != test.origin || got.Folder != test.folder {
			t.Errorf("ParseTarget(%q) = %+v, %v", test.arg, got, err)
		}
	}
}

func TestDefaultNames(t *testing.T) {
	t.Parallel()
	long := "https://" + strings.Repeat("a", 40) + ".example/"
	tests := []struct {
		targets []Target
		want    []string
	}{
		{[]Target{{URL: "https://www.shop.example/"}}, []string{"shop_example"}},
		{[]Target{{URL: "http://127.0.0.1:80/"}}, []string{"site_127_0_0_1"}},
		{[]Target{{URL: "http://[::1]/"}}, []string{"site_1"}},
		{[]Target{{URL: "https://xn--bcher-kva.example/"}}, []string{"xn__bcher_kva_example"}},
		{[]Target{{Folder: "/srv/My App"}}, []string{"my_app"}},
		{[]Target{{Folder: "/"}}, []string{"site"}},
		{[]Target{{Folder: "/srv/…"}}, []string{"site"}},
		{[]Target{{URL: "https://a/"}, {URL: "https://a/x"}, {Name: "a_2", URL: "https://a/y"}}, []string{"a", "a_3", "a_2"}},
		{[]Target{{URL: long}, {URL: long}}, []string{strings.Repeat("a", 32), strings.Repeat("a", 30) + "_2"}},
	}
	for _, test := range tests {
		all := make([]*Target, len(test.targets))
		for i := range test.targets {
			all[i] = &test.targets[i]
		}
		if err := NameAll(all); err != nil {
			t.Errorf("NameAll: %v", err)
			continue
		}
		for i, x := range all {
			if x.Name != test.want[i] || !SiteName.MatchString(x.Name) {
				t.Errorf("the name of %+v is %q, want %q", test.targets[i], x.Name, test.want[i])
			}
		}
	}
	if err := NameAll([]*Target{{Name: "a"}, {Name: "a"}}); err == nil {
		t.Error("two sites may have one name")
	}
}
