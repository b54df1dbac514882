package main

import (
	"slices"
	"testing"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/e2e/app"
)

// TestOriginsAreNotShared opens two sites beside each other: the further origins of one
// must not get into the list of the other.
func TestOriginsAreNotShared(t *testing.T) {
	t.Parallel()
	shared := append(make([]config.Origin, 0, 8), "https://all.example") // with room for more
	c := &config.Config{AllowOrigins: shared}
	site := func(origin config.Origin) *target {
		return &target{Target: &app.Target{}, config: config.Site{AllowOrigins: []config.Origin{origin}}}
	}
	a := pageOptions(c, plan{}, site("https://a.example"))
	b := pageOptions(c, plan{}, site("https://b.example"))
	if want := []string{"https://all.example", "https://a.example"}; !slices.Equal(a.Origins, want) {
		t.Errorf("the first site has %q, want %q", a.Origins, want)
	}
	if want := []string{"https://all.example", "https://b.example"}; !slices.Equal(b.Origins, want) {
		t.Errorf("the second site has %q, want %q", b.Origins, want)
	}
	if room := shared[:2]; room[1] != "" {
		t.Errorf("%q was written behind the list that both have", room[1])
	}
}
