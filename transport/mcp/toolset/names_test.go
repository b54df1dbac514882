package toolset

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	adaptedNames  = Options{}.naming()
	prefixedNames = Options{Prefixed: true}.naming()
)

func TestNames(t *testing.T) {
	long := strings.Repeat("n", 64)
	for _, c := range []struct {
		why      string
		sites    string
		prefixed bool
		id       identity
		want     string // "*" stands for the hash
		faithful bool
	}{
		{"legal", "shop", false, identity{"shop", "https://shop.example", "add-to_Cart9"}, "add-to_Cart9", false},
		{"64 characters", "shop", false, identity{"shop", "o", long}, long, true},
		{"65 characters", "shop", false, identity{"shop", "o", long + "n"}, long[:57] + "_*", true},
		// C4: room for a client's prefix.
		{"40 characters", "shop", false, identity{"shop", "o", long[:40]}, long[:40], false},
		{"41 characters", "shop", false, identity{"shop", "o", long[:41]}, long[:33] + "_*", false},
		{"a sentence", "shop", false, identity{"shop", "o", "update_the_delivery_address_of_a_customer_order_by_identifier"}, "update_the_delivery_address_of_a__*", false},
		{"prefixed, 40 characters", "shop mail", true, identity{"shop", "o", long[:35]}, "shop_" + long[:35], false},
		{"prefixed, 41 characters", "shop mail", true, identity{"shop", "o", long[:36]}, "shop_" + long[:28] + "_*", false},
		{"a site with a long name", long[:32] + " mail", true, identity{long[:32], "o", "find_order"}, long[:32] + "__*", false},
		{"long, and illegal", "shop", false, identity{"shop", "o", "find order " + long}, "find_order_" + long[:22] + "_*", false},
		// C5: what every object of JavaScript has.
		{"constructor", "shop", false, identity{"shop", "o", "constructor"}, "constructor_*", false},
		{"__proto__", "shop", false, identity{"shop", "o", "__proto__"}, "__proto___*", false},
		{"toString", "shop", false, identity{"shop", "o", "toString"}, "toString_*", false},
		{"valueOf, in faithful lists, too", "shop", false, identity{"shop", "o", "valueOf"}, "valueOf_*", true},
		{"__proto__ after folding", "shop", false, identity{"shop", "o", "__proto-_"}, "__proto-__*", false},
		{"hasOwnProperty", "shop", false, identity{"shop", "o", "hasOwnProperty"}, "hasOwnProperty_*", false},
		{"__lookupGetter__", "shop", false, identity{"shop", "o", "__lookupGetter__"}, "__lookupGetter___*", false},
		{"prefixed, nothing has it", "shop mail", true, identity{"shop", "o", "constructor"}, "shop_constructor", false},
		{"nearly one", "shop", false, identity{"shop", "o", "constructors"}, "constructors", false},
		{"a dot", "shop", false, identity{"shop", "o", "cart.add"}, "cart_add_*", false},
		{"a space", "shop", false, identity{"shop", "o", "add to cart"}, "add_to_cart_*", false},
		{"a slash", "shop", false, identity{"shop", "o", "cart/add"}, "cart_add_*", false},
		{"letters of other scripts", "shop", false, identity{"shop", "o", "été"}, "_t__*", false},
		{"nothing", "shop", false, identity{"shop", "o", ""}, "tool_*", false},
		{"ours", "shop", false, identity{"shop", "o", "pagetools_search"}, "page_pagetools_search_*", false},
		{"ours in other letters", "shop", false, identity{"shop", "o", "PageTools_call"}, "page_PageTools_call_*", false},
		{"ours when it is made legal", "shop", false, identity{"shop", "o", "pagetools.call"}, "page_pagetools_call_*", false},
		{"ours after folding", "shop", false, identity{"shop", "o", "pagetools-call"}, "page_pagetools-call_*", false},
		{"nearly ours", "shop", false, identity{"shop", "o", "pagetoolscall"}, "pagetoolscall", false},
		{"a digit first", "shop", false, identity{"shop", "o", "2-buy"}, "_2-buy_*", false},
		{"a hyphen first", "shop", false, identity{"shop", "o", "-buy"}, "_-buy_*", false},
		{"could be of a site with a longer name, after folding", "a a_b", true, identity{"a", "o", "B-c"}, "a_B-c_*", false},
		{"prefixed", "shop mail", true, identity{"shop", "o", "add"}, "shop_add", false},
		{"prefixed, 64 characters", "shop mail", true, identity{"shop", "o", long[:59]}, "shop_" + long[:59], true},
		{"prefixed, 65 characters", "shop mail", true, identity{"shop", "o", long[:60]}, "shop_" + long[:52] + "_*", true},
		{"prefixed, and ours", "shop mail", true, identity{"shop", "o", "pagetools_call"}, "shop_pagetools_call", false},
		{"a site called like us", "pagetools mail", true, identity{"pagetools", "o", "call"}, "page_pagetools_call_*", false},
		{"could be of a site with a longer name", "a a_b", true, identity{"a", "o", "b_c"}, "a_b_c_*", false},
		{"of the site with the longer name", "a a_b", true, identity{"a_b", "o", "c"}, "a_b_c", false},
		{"looks like it had a hash", "shop mail", true, identity{"shop", "o", "order_123456"}, "shop_order_123456_*", false},
		{"looks like it had a hash, with one site", "shop", false, identity{"shop", "o", "order_123456"}, "order_123456", false},
	} {
		n := Options{Prefixed: c.prefixed, Faithful: c.faithful}.naming()
		got := n.assign(strings.Fields(c.sites), []identity{c.id})[0]
		head, hashed := strings.CutSuffix(c.want, "*")
		if hashed && (!strings.HasPrefix(got, head) || !likeHashed.MatchString(got) || len(got) != len(head)+6) || !hashed && got != c.want {
			t.Errorf("%s: %q, want %s", c.why, got, c.want)
		}
		if again := n.assign(strings.Fields(c.sites), []identity{c.id})[0]; again != got {
			t.Errorf("%s: %q, then %q", c.why, got, again)
		}
	}
	one := adaptedNames.assign(nil, []identity{{"s", "https://a.example", "x.y"}})[0]
	other := adaptedNames.assign(nil, []identity{{"s", "https://b.example", "x.y"}})[0]
	if one == other {
		t.Errorf("two origins share the name %q", one)
	}
}

// TestNamesCannotBeTakenOver: whoever computes the name of another's tool, and
// registers it, does not get it.
func TestNamesCannotBeTakenOver(t *testing.T) {
	victim := identity{"a", "https://a.example", "b.c"}
	for _, n := range []naming{adaptedNames, prefixedNames} {
		name := n.assign([]string{"a"}, []identity{victim})[0]
		for _, thief := range []identity{
			{"a", "https://evil.example", strings.TrimPrefix(name, "a_")},
			{"a_b", "https://evil.example", strings.TrimPrefix(name, "a_b_")},
		} {
			got := n.assign([]string{"a", "a_b"}, []identity{thief, victim})
			if got[1] != name || got[0] == name || got[0] == "" {
				t.Errorf("%v beside %v: %q", thief, victim, got)
			}
			// With prefixes not even when the other's tool is gone.
			if alone := n.assign([]string{"a", "a_b"}, []identity{thief})[0]; n.prefixed && alone == name {
				t.Errorf("%v takes over %q", thief, name)
			}
		}
	}
	free := identity{"a", "https://a.example", "b_c"}
	if got := adaptedNames.assign([]string{"a"}, []identity{free, victim}); got[0] != "b_c" {
		t.Errorf("a name that nobody else wants became %q", got[0])
	}
}

// TestEqualNamesAllChange: nobody keeps a name that two tools want, so that it does
// not matter who comes first.
func TestEqualNamesAllChange(t *testing.T) {
	ids := []identity{{"a", "https://a.example", "pay"}, {"b", "https://b.example", "pay"}, {"b", "https://b.example", "ship"}}
	got := adaptedNames.assign([]string{"a", "b"}, ids)
	if got[0] == "pay" || got[1] == "pay" || got[0] == got[1] || got[2] != "ship" {
		t.Errorf("names are %q", got)
	}
}

// TestNamesThatFoldAllChange (E3): where a client takes two names for one, neither is
// kept; with only one of them there, it is.
func TestNamesThatFoldAllChange(t *testing.T) {
	for _, raws := range [][2]string{{"find-stamps", "find_stamps"}, {"findStamps", "findstamps"}, {"Find-Stamps", "find_stamps"}} {
		a, b := identity{"a", "https://a.example", raws[0]}, identity{"a", "https://a.example", raws[1]}
		got := adaptedNames.assign([]string{"a"}, []identity{a, b})
		if got[0] == raws[0] || got[1] == raws[1] || fold(got[0]) == fold(got[1]) {
			t.Errorf("names of %q are %q", raws, got)
		}
		if alone := adaptedNames.assign([]string{"a"}, []identity{a}); alone[0] != raws[0] {
			t.Errorf("alone, %q is %q", raws[0], alone[0])
		}
	}
}

// TestEqualHashesAreMadeAgain: the same origin and tool under two names of a site
// have the same hash at first.
func TestEqualHashesAreMadeAgain(t *testing.T) {
	raw := strings.Repeat("b_", 60)
	ids := []identity{{"a", "o", raw}, {"a_b", "o", raw}}
	if prefixedNames.hashed(ids[0], 0) != prefixedNames.hashed(ids[1], 0) {
		t.Fatal("the first names differ, so this test shows nothing")
	}
	got := prefixedNames.assign([]string{"a", "a_b"}, ids)
	if got[0] == got[1] || got[0] == prefixedNames.hashed(ids[0], 0) || !legalName.MatchString(got[0]) || !legalName.MatchString(got[1]) {
		t.Errorf("names are %q", got)
	}
}

var rawNames = rapid.OneOf(
	rapid.StringMatching(`[a-c_.]{1,6}`),
	rapid.StringMatching(`[aA_-]{1,3}[0-9]?`),
	rapid.StringMatching(`(pagetools_)?(search|call|a_[0-9a-f]{6})`),
	rapid.StringMatching(`[a-b]{30,70}`),
	rapid.SampledFrom([]string{"constructor", "__proto__", "toString", "--proto--"}),
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
		n := Options{Prefixed: rapid.Bool().Draw(t, "prefixed"), Faithful: rapid.Bool().Draw(t, "faithful")}.naming()
		names := n.assign(sites, ids)
		of := map[identity]string{}
		seen := map[string]bool{}
		for i, name := range names {
			if !n.fits(name) || reserved(name) || seen[fold(name)] {
				t.Fatalf("%q for %+v among %q", name, ids[i], names)
			}
			seen[fold(name)], of[ids[i]] = true, name
		}
		mixed := rapid.Permutation(ids).Draw(t, "mixed")
		for i, name := range n.assign(rapid.Permutation(sites).Draw(t, "mixed sites"), mixed) {
			if of[mixed[i]] != name {
				t.Fatalf("%+v is %q, and in another order %q", mixed[i], of[mixed[i]], name)
			}
		}
		if !n.prefixed {
			return
		}
		// With prefixes no tool gets a name that a tool of another site had, whatever
		// both sites register.
		gone := slices.DeleteFunc(slices.Clone(ids), func(id identity) bool { return id.site == sites[0] })
		for i, name := range n.assign(sites, gone) {
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
		n := Options{Prefixed: prefixed}.naming()
		got := n.assign([]string{site, "a"}, []identity{{site, origin, one}, {site, origin, two}})
		for _, name := range got {
			if !n.fits(name) || reserved(name) {
				t.Errorf("%q", name)
			}
		}
		if fold(got[0]) == fold(got[1]) {
			t.Errorf("they are %q", got)
		}
	})
}
