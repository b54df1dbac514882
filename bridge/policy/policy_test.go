package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"pgregory.net/rapid"
)

func TestLevels(t *testing.T) {
	if Auto >= Once || Once >= Ask || Ask >= Never {
		t.Error("out of order")
	}
	for l := Auto; l <= Never; l++ {
		text, _ := l.MarshalText()
		var back Level
		if err := back.UnmarshalText(text); err != nil || back != l {
			t.Errorf("%v: %v, %v", l, back, err)
		}
	}
	for _, bad := range []string{"", "Auto", "ask ", "once", "deny"} {
		if l, err := ParseLevel(bad); err == nil || l != Never {
			t.Errorf("%q is %v, %v", bad, l, err)
		}
	}
	if Level(9).String() != "never" {
		t.Error("what is no level is not the strictest")
	}
}

func TestDecide(t *testing.T) {
	rules := []Rule{{Pattern: "list-*"}, {Pattern: "delete-*", Level: Never}, {Pattern: "delete-draft", Level: Once}}
	named := []Rule{{Pattern: "list-*", Origin: "https://maps.example"}}
	reads := Hints{ReadOnly: Yes}
	for _, c := range []struct {
		name  string
		in    Input
		level Level
		layer string
	}{
		{"nothing said", Input{Own: true}, Ask, LayerOperator},
		{"mode ask", Input{Own: true, Operator: Operator{Mode: ModeAsk}}, Ask, LayerOperator},
		{"reads, from the site", Input{Hints: reads, TopLevel: true, Own: true}, Auto, LayerOperator},
		{"reads, from a frame", Input{Own: true, Hints: reads}, Ask, LayerOperator},
		{"says that it does not only read", Input{Hints: Hints{ReadOnly: No}, TopLevel: true, Own: true}, Ask, LayerOperator},
		{"strict", Input{Operator: Operator{Mode: ModeStrict}, Hints: reads, TopLevel: true, Own: true}, Ask, LayerOperator},
		{"strict with an auto rule", Input{Own: true, Operator: Operator{Mode: ModeStrict, Tools: rules}, Tool: "list-a"}, Ask, LayerOperator},
		{"strict with a never rule", Input{Own: true, Operator: Operator{Mode: ModeStrict, Tools: rules}, Tool: "delete-a"}, Never, LayerOperator},
		{"auto", Input{Own: true, Operator: Operator{Mode: ModeAuto}}, Auto, LayerOperator},
		{"auto, destructive", Input{Own: true, Operator: Operator{Mode: ModeAuto}, Hints: Hints{Destructive: Yes}}, Ask, LayerHints},
		{"auto, consequential", Input{Own: true, Operator: Operator{Mode: ModeAuto}, Hints: Hints{Consequential: Yes}}, Ask, LayerHints},
		{"auto, denied claims", Input{Own: true, Operator: Operator{Mode: ModeAuto}, Hints: Hints{Destructive: No, Consequential: No, Untrusted: Yes}}, Auto, LayerOperator},
		{"auto, site", Input{Own: true, Operator: Operator{Mode: ModeAuto}, Site: Once}, Once, LayerSite},
		{"auto, request", Input{Own: true, Operator: Operator{Mode: ModeAuto}, Request: Ask}, Ask, LayerRequest},
		{"auto, a rule", Input{Own: true, Operator: Operator{Mode: ModeAuto, Tools: rules}, Tool: "delete-a"}, Never, LayerOperator},
		{"ask-once", Input{Own: true, Operator: Operator{Mode: ModeAskOnce}}, Once, LayerOperator},
		{"ask-once, reads", Input{Operator: Operator{Mode: ModeAskOnce}, Hints: reads, TopLevel: true, Own: true}, Auto, LayerOperator},
		{"ask-once, foreign", Input{Operator: Operator{Mode: ModeAskOnce}}, Ask, LayerOperator},
		{"ask-once, destructive", Input{Own: true, Operator: Operator{Mode: ModeAskOnce}, Hints: Hints{Destructive: Yes}}, Ask, LayerHints},
		{"never, reads", Input{Operator: Operator{Mode: ModeNever}, Hints: reads, TopLevel: true, Own: true}, Never, LayerOperator},
		{"never, foreign", Input{Operator: Operator{Mode: ModeNever}}, Never, LayerOperator},
		{"never, auto rule", Input{Own: true, Operator: Operator{Mode: ModeNever, Tools: rules}, Tool: "list-a"}, Auto, LayerOperator},
		{"deny, reads", Input{Operator: Operator{Mode: ModeDeny}, Hints: reads, TopLevel: true, Own: true}, Auto, LayerOperator},
		{"deny", Input{Own: true, Operator: Operator{Mode: ModeDeny}}, Never, LayerOperator},
		{"deny, auto rule", Input{Own: true, Operator: Operator{Mode: ModeDeny, Tools: rules}, Tool: "list-a"}, Auto, LayerOperator},
		{"deny, once rule", Input{Own: true, Operator: Operator{Mode: ModeDeny, Tools: rules}, Tool: "delete-draft"}, Never, LayerOperator},
		{"deny, raised by a hint", Input{Own: true, Operator: Operator{Mode: ModeDeny, Tools: rules}, Tool: "list-a", Hints: Hints{Destructive: Yes}}, Never, LayerOperator},
		{"rule auto", Input{Own: true, Operator: Operator{Tools: rules}, Tool: "list-a"}, Auto, LayerOperator},
		{"rule auto, destructive", Input{Own: true, Operator: Operator{Tools: rules}, Tool: "list-a", Hints: Hints{Destructive: Yes}}, Ask, LayerHints},
		{"rule once over a claim to read", Input{Operator: Operator{Tools: rules}, Tool: "delete-draft", Hints: reads, TopLevel: true, Own: true}, Once, LayerOperator},
		{"reads and destroys", Input{Hints: Hints{ReadOnly: Yes, Destructive: Yes}, TopLevel: true, Own: true}, Ask, LayerHints},
		{"auto, tainted", Input{Own: true, Operator: Operator{Mode: ModeAuto}, Tainted: true}, Once, LayerTaint},
		{"auto, tainted, reads", Input{Operator: Operator{Mode: ModeAuto}, Hints: reads, TopLevel: true, Own: true, Tainted: true}, Auto, LayerOperator},
		{"auto, tainted, reads, from a frame", Input{Own: true, Operator: Operator{Mode: ModeAuto}, Hints: reads, Tainted: true}, Once, LayerTaint},
		{"once, tainted", Input{Own: true, Operator: Operator{Tools: rules}, Tool: "delete-draft", Tainted: true}, Ask, LayerTaint},
		{"ask, tainted", Input{Own: true, Tainted: true}, Ask, LayerOperator},
		{"never, tainted", Input{Own: true, Operator: Operator{Tools: rules}, Tool: "delete-a", Tainted: true}, Never, LayerOperator},
		{"deny, tainted", Input{Own: true, Operator: Operator{Mode: ModeDeny, Tools: rules}, Tool: "list-a", Tainted: true}, Never, LayerOperator},
		{"reads, unseen", Input{Hints: reads, TopLevel: true, Own: true, Unseen: true}, Ask, LayerUnseen},
		{"never, unseen", Input{Own: true, Operator: Operator{Tools: rules}, Tool: "delete-a", Unseen: true}, Never, LayerOperator},
		{"never wins", Input{Own: true, Site: Never, Request: Ask}, Never, LayerSite},
		{"foreign, auto", Input{Operator: Operator{Mode: ModeAuto}}, Ask, LayerOperator},
		{"foreign, auto, tainted", Input{Operator: Operator{Mode: ModeAuto}, Tainted: true}, Ask, LayerOperator},
		{"foreign, a rule for all", Input{Operator: Operator{Tools: rules}, Tool: "list-a"}, Ask, LayerOperator},
		{"foreign, auto and a rule for all", Input{Operator: Operator{Mode: ModeAuto, Tools: rules}, Tool: "delete-draft"}, Ask, LayerOperator},
		{"foreign, a never rule", Input{Operator: Operator{Mode: ModeAuto, Tools: rules}, Tool: "delete-a"}, Never, LayerOperator},
		{"foreign, deny", Input{Operator: Operator{Mode: ModeDeny, Tools: rules}, Tool: "list-a"}, Never, LayerOperator},
		{"foreign and named", Input{Operator: Operator{Tools: named}, Tool: "list-a", Origin: "https://maps.example"}, Auto, LayerOperator},
		{"foreign and named, destructive", Input{Operator: Operator{Tools: named}, Tool: "list-a", Origin: "https://maps.example", Hints: Hints{Destructive: Yes}}, Ask, LayerHints},
		{"foreign, another is named", Input{Operator: Operator{Tools: named}, Tool: "list-a", Origin: "https://ads.example"}, Ask, LayerOperator},
		{"own, another is named", Input{Operator: Operator{Tools: named}, Tool: "list-a", Origin: "https://site.example", Own: true}, Ask, LayerOperator},
		{"strict and named", Input{Operator: Operator{Mode: ModeStrict, Tools: named}, Tool: "list-a", Origin: "https://maps.example"}, Ask, LayerOperator},
		{"unknown mode", Input{Own: true, Operator: Operator{Mode: "Auto"}}, Never, LayerOperator},
		{"no level at all", Input{Own: true, Operator: Operator{Mode: ModeAuto}, Request: 200}, Never, LayerRequest},
	} {
		if d := Decide(c.in); d.Level != c.level || d.Layer != c.layer || d.Reason == "" {
			t.Errorf("%s: %+v, want %v by %s", c.name, d, c.level, c.layer)
		}
	}
}

// every calls f with all combinations of what there is to combine.
func every(f func(Input)) {
	modes := []string{"", ModeAsk, ModeAskOnce, ModeStrict, ModeAuto, ModeNever, ModeDeny, "nonsense"}
	rules := [][]Rule{nil, {{Pattern: "t"}}, {{Pattern: "t", Level: Once}}, {{Pattern: "t", Level: Ask}}, {{Pattern: "t", Level: Never}}, {{Pattern: "other"}}, {{Pattern: "t", Origin: "o"}}}
	claims := []Claim{Unsaid, No, Yes}
	for _, mode := range modes {
		for _, tools := range rules {
			for _, place := range [][2]bool{{}, {true, false}, {true, true}} {
				for _, ro := range claims {
					for _, destroys := range claims {
						for _, matters := range claims {
							for site := Auto; site <= Never; site++ {
								for request := Auto; request <= Never; request++ {
									for _, more := range [][2]bool{{}, {true, false}, {false, true}, {true, true}} {
										f(Input{Operator: Operator{Mode: mode, Tools: tools}, Tool: "t", Origin: "o", Own: place[0], TopLevel: place[1], Site: site, Request: request,
											Tainted: more[0], Unseen: more[1], Hints: Hints{ReadOnly: ro, Destructive: destroys, Consequential: matters}})
									}
								}
							}
						}
					}
				}
			}
		}
	}
}

// explains reports whether the layers come in their order, one of them decided, and none wanted more.
func explains(layers []Layer, d Decision) bool {
	names, decided := "", 0
	for _, l := range layers {
		names += l.Name + " "
		if l.Decided {
			decided++
		}
		if l.Level > d.Level || l.Decided != (l.Name == d.Layer && l.Level == d.Level && l.Reason == d.Reason) {
			return false
		}
	}
	const all = "operator site hints request taint unseen "
	return decided == 1 && (names == all || names == all+"operator ")
}

// TestNothingLoosens goes through every combination there is.
func TestNothingLoosens(t *testing.T) {
	gatetest.NoRace(t)
	n := 0
	every(func(in Input) {
		n++
		got := Decide(in).Level
		if d, layers := Explain(in); d != Decide(in) || !explains(layers, d) {
			t.Fatalf("%+v: %+v by %+v", in, d, layers)
		}
		for _, weaken := range []func(*Input){
			func(in *Input) { in.Site = Auto },
			func(in *Input) { in.Request = Auto },
			func(in *Input) { in.Tainted = false },
			func(in *Input) { in.Unseen = false },
			func(in *Input) { in.Hints.Destructive = Unsaid },
			func(in *Input) { in.Hints.Consequential = Unsaid },
			func(in *Input) { in.Site, in.Request, in.Hints = Auto, Auto, Hints{ReadOnly: in.Hints.ReadOnly} },
		} {
			less := in
			weaken(&less)
			if base := Decide(less).Level; got < base {
				t.Fatalf("%+v is %v, but %v without what only raises", in, got, base)
			}
		}
		if got < in.Site || got < in.Request {
			t.Fatalf("%+v is %v", in, got)
		}
		if (in.Hints.Destructive == Yes || in.Hints.Consequential == Yes) && got < Ask {
			t.Fatalf("%+v is %v", in, got)
		}
		unsaid := in
		unsaid.Hints.ReadOnly = Unsaid
		trusted := in.TopLevel && in.Hints.ReadOnly == Yes && (len(in.Operator.Tools) == 0 || in.Operator.Tools[0].Pattern != "t") &&
			(in.Operator.Mode == "" || in.Operator.Mode == ModeAsk || in.Operator.Mode == ModeAskOnce || in.Operator.Mode == ModeDeny)
		reads := in.Tainted && in.TopLevel && in.Hints.OnlyReads() // taint is about what may change something
		if got < Decide(unsaid).Level && !trusted && !reads {
			t.Fatalf("%+v: readOnlyHint counts where it must not", in)
		}
		if in.Operator.Mode == ModeDeny && got != Auto && got != Never {
			t.Fatalf("%+v asks", in)
		}
		if !in.Own && got < Ask && (len(in.Operator.Tools) == 0 || in.Operator.Tools[0].Origin != in.Origin) {
			t.Fatalf("%+v: a tool of another origin is not asked about", in)
		}
		if in.Operator.Mode == ModeStrict && got < Ask {
			t.Fatalf("%+v does not ask", in)
		}
	})
	if n < 30_000 {
		t.Errorf("only %d combinations", n)
	}
}

var origins = []string{"", "https://a.example", "https://b.example"}

func drawRules(t *rapid.T) []Rule {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Rule {
		return Rule{rapid.StringMatching(`[ab*]{0,4}`).Draw(t, "pattern"), Level(rapid.IntRange(0, 3).Draw(t, "level")), rapid.SampledFrom(origins).Draw(t, "of")}
	}), 0, 5).Draw(t, "rules")
}

// TestRaisingNeverLowers draws rules too, and raises inputs step by step.
func TestRaisingNeverLowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{
			Operator: Operator{Mode: rapid.SampledFrom([]string{"", ModeAsk, ModeAskOnce, ModeStrict, ModeAuto, ModeNever, ModeDeny}).Draw(t, "mode"), Tools: drawRules(t)},
			Tool:     rapid.StringMatching(`[ab]{0,5}`).Draw(t, "tool"),
			Origin:   rapid.SampledFrom(origins).Draw(t, "origin"),
			Own:      rapid.Bool().Draw(t, "own"),
			TopLevel: rapid.Bool().Draw(t, "top"),
			Hints:    Hints{ReadOnly: Claim(rapid.IntRange(0, 2).Draw(t, "ro"))},
			Site:     Level(rapid.IntRange(0, 255).Draw(t, "site")),
			Request:  Level(rapid.IntRange(0, 255).Draw(t, "request")),
		}
		more := in
		more.Site = max(in.Site, Level(rapid.IntRange(0, 255).Draw(t, "more site")))
		more.Request = max(in.Request, Level(rapid.IntRange(0, 255).Draw(t, "more request")))
		more.Hints.Destructive = Claim(rapid.IntRange(0, 2).Draw(t, "destructive"))
		more.Hints.Consequential = Claim(rapid.IntRange(0, 2).Draw(t, "consequential"))
		more.Hints.Untrusted = Claim(rapid.IntRange(0, 2).Draw(t, "untrusted"))
		if a, b := Decide(in), Decide(more); b.Level < a.Level {
			t.Fatalf("%+v is %v, raised to %+v it is %v", in, a, more, b)
		}
	})
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		tool  string
		rules string
		want  string
	}{
		{"list-a", "*:ask list-*:auto", "list-*:auto"},
		{"list-a", "list-*:auto *-a:never", "list-*:auto"},
		{"list-a", "list-a:auto list-**********************************:never", "list-a:auto"},
		{"ab", "a*:auto *b:never", "*b:never"},
		{"ab", "*b:never a*:auto", "*b:never"},
		{"ab", "*a*:never a*:auto", "a*:auto"},
		{"ab", "a*:ask a*:auto", "a*:ask"},
		{"ab", "é*:auto", ""},
		{"éb", "é*:auto a*:ask", "é*:auto"},
		{"a/b.c", "a*c:auto", "a*c:auto"},
		{"A", "a:auto", ""},
		{"", "*:auto", "*:auto"},
		{"x", "", ""},
		{"ab", "ab:never o|*:auto", "o *:auto"},
		{"ab", "o|a*:ask o|ab:auto", "o ab:auto"},
		{"ab", "other|ab:auto *:ask", "*:ask"},
	} {
		var o Operator
		for _, f := range strings.Fields(c.rules) {
			pattern, level, _ := strings.Cut(f, ":")
			l, err := ParseLevel(level)
			if err != nil {
				t.Fatal(err)
			}
			r := Rule{Pattern: pattern, Level: l}
			if origin, pattern, named := strings.Cut(pattern, "|"); named {
				r.Origin, r.Pattern = origin, pattern
			}
			o.Tools = append(o.Tools, r)
		}
		got := ""
		if r, ok := o.Match("o", c.tool); ok {
			got = r.String() + ":" + r.Level.String()
		}
		if got != c.want {
			t.Errorf("%q among %q: %q, want %q", c.tool, c.rules, got, c.want)
		}
	}
}

// TestOrderOfRulesDecidesNothing: a YAML map has no order to rely on.
func TestOrderOfRulesDecidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, tool := drawRules(t), rapid.StringMatching(`[ab]{0,4}`).Draw(t, "tool")
		origin := rapid.SampledFrom(origins).Draw(t, "origin")
		a, okA := Operator{Tools: rules}.Match(origin, tool)
		b, okB := Operator{Tools: rapid.Permutation(rules).Draw(t, "order")}.Match(origin, tool)
		if okA != okB || a.Level != b.Level {
			t.Fatalf("%v, then %v", a, b)
		}
	})
}

// slowGlob is the definition, as an oracle.
func slowGlob(p, s string) bool {
	switch {
	case p == "":
		return s == ""
	case p[0] == '*':
		return slowGlob(p[1:], s) || s != "" && slowGlob(p, s[1:])
	default:
		return s != "" && s[0] == p[0] && slowGlob(p[1:], s[1:])
	}
}

func TestGlob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := rapid.StringMatching(`[ab*]{0,7}`).Draw(t, "pattern"), rapid.StringMatching(`[ab]{0,8}`).Draw(t, "name")
		if got, want := Matches(p, s), slowGlob(p, s); got != want {
			t.Fatalf("%q matches %q: %v, want %v", p, s, got, want)
		}
	})
}

func TestParseRate(t *testing.T) {
	for in, want := range map[string]Rate{"60/1m": {60, time.Minute}, "1/24h": {1, 24 * time.Hour}, "1000000/1ms": {1_000_000, time.Millisecond}, "5/1m30s": {5, 90 * time.Second}} {
		got, err := ParseRate(in)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
		if again, err := ParseRate(got.String()); err != nil || again != got {
			t.Errorf("%q does not survive: %v, %v", in, again, err)
		}
	}
	for _, bad := range []string{"", "60", "60/", "/1m", "60/m", "0/1m", "-1/1m", "1000001/1m", "1/0s", "1/-1m", "1/25h", "1/999us", "1.5/1m", "60/1m/2", " 60/1m"} {
		if r, err := ParseRate(bad); err == nil {
			t.Errorf("%q is %v", bad, r)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	f.Add("60/1m")
	f.Add("1/1h1ms")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRate(s)
		if err != nil {
			return
		}
		if again, err := ParseRate(r.String()); err != nil || again != r {
			t.Fatalf("%q is %v, then %v, %v", s, r, again, err)
		}
	})
}
