package app

import (
	"net/url"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/origin"
)

// FuzzTarget: an address that is taken is one of the web, its origin reads as itself, and
// every site has a name of its own that is legal.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"https://Shop.Example:443/a?b=c#d", "a_1=http://[::1]:8080/", "x=y=https://a.b", "http://user:pw@h/", "https://bücher.example", "http://h:/", "https://%zz/", "HTTP://1.1.1.1:080"} {
		f.Add(seed, "https://a.example")
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		var targets []*Target
		for _, arg := range []string{one, two} {
			if !strings.Contains(arg, "://") { // it would look at the disk
				continue
			}
			target, err := ParseTarget(arg)
			if err != nil {
				if strings.TrimSpace(err.Error()) == "" {
					t.Fatalf("%q is refused without a word", arg)
				}
				continue
			}
			checkTarget(t, target)
			targets = append(targets, target)
		}
		if NameAll(targets) != nil {
			return // one name twice
		}
		seen := map[string]bool{}
		for _, x := range targets {
			if !SiteName.MatchString(x.Name) || seen[x.Name] {
				t.Errorf("%q is named %q", x.Text, x.Name)
			}
			seen[x.Name] = true
		}
	})
}

func checkTarget(t *testing.T, x *Target) {
	t.Helper()
	u, err := url.Parse(x.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		t.Fatalf("%q became the address %q (%v)", x.Text, x.URL, err)
	}
	if again, ok := origin.Parse(x.Origin); !ok || again != x.Origin {
		t.Errorf("the origin %q of %q reads as %q, %v", x.Origin, x.Text, again, ok)
	}
}
