package toolset

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("n", 64)
	for _, c := range []struct {
		why      string
		sites    string
		prefixed bool
		id       identity
		want     string // "*" stands for the hash
	}{
		{"legal", "shop", false, identity{"shop", "https://shop.example", "add-to_Cart9"}, "add-to_Cart9"},
		{"64 characters", "shop", false, identity{"shop", "o", long}, long},
		{"65 characters", "shop", false, identity{"shop", "o", long + "n"}, long[:57] + "_*"},
		{"a dot", "shop", false, identity{"shop", "o", "cart.add"}, "cart_add_*"},
		{"a space", "shop", false, identity{"shop", "o", "add to cart"}, "add_to_cart_*"},
		{"a slash", "shop", false, identity{"shop", "o", "cart/add"}, "cart_add_*"},
		{"letters of other scripts", "shop", false, identity{"shop", "o", "été"}, "_t__*"},
		{"nothing", "shop", false, identity{"shop", "o", ""}, "tool_*"},
		{"ours", "shop", false, identity{"shop", "o", "pagetools_search"}, "page_pagetools_search_*"},
		{"ours in other letters", "shop", false, identity{"shop", "o", "PageTools_call"}, "page_PageTools_call_*"},
		{"ours when it is made legal", "shop", false, identity{"shop", "o", "pagetools.call"}, "page_pagetools_call_*"},
		{"ours after folding", "shop", false, identity{"shop", "o", "pagetools-call"}, "page_pagetools-call_*"},
		{"nearly ours", "shop", false, identity{"shop", "o", "pagetoolscall"}, "pagetoolscall"},
		{"a digit first", "shop", false, identity{"shop", "o", "2-buy"}, "_2-buy_*"},
		{"a hyphen first", "shop", false, identity{"shop", "o", "-buy"}, "_-buy_*"},
		{"could be of a site with a longer name, after folding", "a a_b", true, identity{"a", "o", "B-c"}, "a_B-c_*"},
		{"prefixed", "shop mail", true, identity{"shop", "o", "add"}, "shop_add"},
		{"prefixed, 64 characters", "shop mail", true, identity{"shop", "o", long[:59]}, "shop_" + long[:59]},
		{"prefixed, 65 characters", "shop mail", true, identity{"shop", "o", long[:60]}, "shop_" + long[:52] + "_*"},
		{"prefixed, and ours", "shop mail", true, identity{"shop", "o", "pagetools_call"}, "shop_pagetools_call"},
		{"a site called like us", "pagetools mail", true, identity{"pagetools", "o", "call"}, "page_pagetools_call_*"},
		{"could be of a site with a longer name", "a a_b", true, identity{"a", "o", "b_c"}, "a_b_c_*"},
		{"of the site with the longer name", "a a_b", true, identity{"a_b", "o", "c"}, "a_b_c"},
		{"looks like it had a hash", "shop mail", true, identity{"shop", "o", "order_123456"}, "shop_order_123456_*"},
		{"looks like it had a hash, with one site", "shop", false, identity{"shop", "o", "order_123456"}, "order_123456"},
	} {
		got := assign(strings.Fields(c.sites), []identity{c.id}, c.prefixed)[0]
		head, hashed := strings.CutSuffix(c.want, "*")
		if hashed && (!strings.HasPrefix(got, head) || !likeHashed.MatchString(got) || len(got) != len(head)+6) || !hashed && got != c.want {
			t.Errorf("%s: %q, want %s", c.why, got, c.want)
		}
		if again := assign(strings.Fields(c.sites), []identity{c.id}, c.prefixed)[0]; again != got {
			t.Errorf("%s: %q, then %q", c.why, got, again)
		}
	}
	one := assign(nil, []identity{{"s", "https://a.example", "x.y"}}, false)[0]
	other := assign(nil, []identity{{"s", "https://b.example", "x.y"}}, false)[0]
	if one == other {
		t.Errorf("two origins share the name %q", one)
	}
}

// TestNamesCannotBeTakenOver: whoever computes the name of another's tool, and
// registers it, does not get it.
func TestNamesCannotBeTakenOver(t *testing.T) {
	victim := identity{"a", "https://a.example", "b.c"}
	for _, prefixed := range []bool{false, true} {
		name := assign([]string{"a"}, []identity{victim}, prefixed)[0]
		for _, thief := range []identity{
			{"a", "https://evil.example", strings.TrimPrefix(name, "a_")},
			{"a_b", "https://evil.example", strings.TrimPrefix(name, "a_b_")},
		} {
			got := assign([]string{"a", "a_b"}, []identity{thief, victim}, prefixed)
			if got[1] != name || got[0] == name || got[0] == "" {
				t.Errorf("%v beside %v: %q", thief, victim, got)
			}
			// With prefixes not even when the other's tool is gone.
			if alone := assign([]string{"a", "a_b"}, []identity{thief}, prefixed)[0]; prefixed && alone == name {
				t.Errorf("%v takes over %q", thief, name)
			}
		}
	}
	free := identity{"a", "https://a.example", "b_c"}
	if got := assign([]string{"a"}, []identity{free, victim}, false); got[0] != "b_c" {
		t.Errorf("a name that nobody else wants became %q", got[0])
	}
}

// TestEqualNamesAllChange: nobody keeps a name that two tools want, so that it does
// not matter who comes first.
func TestEqualNamesAllChange(t *testing.T) {
	ids := []identity{{"a", "https://a.example", "pay"}, {"b", "https://b.example", "pay"}, {"b", "https://b.example", "ship"}}
	got := assign([]string{"a", "b"}, ids, false)
	if got[0] == "pay" || got[1] == "pay" || got[0] == got[1] || got[2] != "ship" {
		t.Errorf("names are %q", got)
	}
}

// TestNamesThatFoldAllChange (E3): where a client takes two names for one, neither is
// kept; with only one of them there, it is.
func TestNamesThatFoldAllChange(t *testing.T) {
	for _, raws := range [][2]string{{"find-stamps", "find_stamps"}, {"findStamps", "findstamps"}, {"Find-Stamps", "find_stamps"}} {
		a, b := identity{"a", "https://a.example", raws[0]}, identity{"a", "https://a.example", raws[1]}
		got := assign([]string{"a"}, []identity{a, b}, false)
		if got[0] == raws[0] || got[1] == raws[1] || fold(got[0]) == fold(got[1]) {
			t.Errorf("names of %q are %q", raws, got)
		}
		if alone := assign([]string{"a"}, []identity{a}, false); alone[0] != raws[0] {
			t.Errorf("alone, %q is %q", raws[0], alone[0])
		}
	}
}

// TestEqualHashesAreMadeAgain: the same origin and tool under two names of a site
// have the same hash at first.
func TestEqualHashesAreMadeAgain(t *testing.T) {
	raw := strings.Repeat("b_", 60)
	ids := []identity{{"a", "o", raw}, {"a_b", "o", raw}}
	if ids[0].hashed(true, 0) != ids[1].hashed(true, 0) {
		t.Fatal("the first names differ, so this test shows nothing")
	}
	got := assign([]string{"a", "a_b"}, ids, true)
	if got[0] == got[1] || got[0] == ids[0].hashed(true, 0) || !legalName.MatchString(got[0]) || !legalName.MatchString(got[1]) {
		t.Errorf("names are %q", got)
	}
}

var rawNames = rapid.OneOf(
	rapid.StringMatching(`[a-c_.]{1,6}`),
	rapid.StringMatching(`[aA_-]{1,3}[0-9]?`),
	rapid.StringMatching(`(pagetools_)?(search|call|a_[0-9a-f]{6})`),
	rapid.StringMatching(`[a-b]{55,70}`),
	rapid.StringN(0, 12, -1),
)

// TestNamesHold: any set of tools has names that are legal, unique, and the same in
// any order.
func TestNamesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sites := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "a_b", "a_b_c", "b", "pagetools"}), 1, 4, rapid.ID).Draw(t, "sites")
		origins := rapid.SampledFrom([]string{"https://a.example", "https://b.example"})
		ids := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) identity {
			return identity{rapid.SampledFrom(sites).Draw(t, "site"), origins.Draw(t, "origin"), rawNames.Draw(t, "raw")}
		}), 0, 30, func(id identity) string { return id.site + "\n" + id.raw }).Draw(t, "tools")
		prefixed := rapid.Bool().Draw(t, "prefixed")
		names := assign(sites, ids, prefixed)
		of := map[identity]string{}
		seen := map[string]bool{}
		for i, name := range names {
			if !legalName.MatchString(name) || reserved(name) || seen[fold(name)] {
				t.Fatalf("%q for %+v among %q", name, ids[i], names)
			}
			seen[fold(name)], of[ids[i]] = true, name
		}
		mixed := rapid.Permutation(ids).Draw(t, "mixed")
		for i, name := range assign(rapid.Permutation(sites).Draw(t, "mixed sites"), mixed, prefixed) {
			if of[mixed[i]] != name {
				t.Fatalf("%+v is %q, and in another order %q", mixed[i], of[mixed[i]], name)
			}
		}
		if !prefixed {
			return
		}
		// With prefixes no tool gets a name that a tool of another site had, whatever
		// both sites register.
		gone := slices.DeleteFunc(slices.Clone(ids), func(id identity) bool { return id.site == sites[0] })
		for i, name := range assign(sites, gone, true) {
			for id, had := range of {
				if had == name && id.site != gone[i].site {
					t.Fatalf("%+v has the name of %+v", gone[i], id)
				}
			}
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("shop", "https://shop.example", "a.b", "a_b_1a2b3c", true)
	f.Add("pagetools", "", "search", "\x00\xff", false)
	f.Fuzz(func(t *testing.T, site, origin, one, two string, prefixed bool) {
		if one == two {
			return
		}
		got := assign([]string{site, "a"}, []identity{{site, origin, one}, {site, origin, two}}, prefixed)
		for _, name := range got {
			if !legalName.MatchString(name) || reserved(name) {
				t.Errorf("%q", name)
			}
		}
		if fold(got[0]) == fold(got[1]) {
			t.Errorf("they are %q", got)
		}
	})
}
