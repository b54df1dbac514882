package scenario

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
)

// Gesture holds one thing that the person does in the page. Exactly one of Click, Fill and Choose
// is set: a CSS selector of one element.
type Gesture struct {
	Position
	Click  string
	Fill   string
	Choose string
	// With holds the text to type in the place of the field's own, the text or the value of the
	// option to choose, or the file, beside the scenario.
	With Value
}

// The kinds of gestures: the key that each has.
const (
	DoClick  = "click"
	DoFill   = "fill"
	DoChoose = "choose"
)

// Kind returns the key that the gesture has.
func (g *Gesture) Kind() string {
	switch {
	case g.Fill != "":
		return DoFill
	case g.Choose != "":
		return DoChoose
	}
	return DoClick
}

// Selector returns the CSS selector.
func (g *Gesture) Selector() string { return g.Click + g.Fill + g.Choose }

// Text returns the text of With, expanded; "" is none.
func (g *Gesture) Text() string {
	text, err := g.With.JSON()
	if err != nil {
		return ""
	}
	return ReadAgain(text).String()
}

// reply holds an answer, or an item of one, that is not a word.
type reply struct {
	Position
	Value  Value  `key:"value" value:"sent" help:"accepts with this value"`
	Click  string `key:"click" help:"a selector: the element that the person clicks"`
	Fill   string `key:"fill" help:"a selector: the field that the person types into, in the place of what it has"`
	Choose string `key:"choose" help:"a selector: the list in which the person chooses an option, or the field in which they choose a file"`
	With   Value  `key:"with" value:"sent" help:"what is typed; or the text or the value of the option; or a file beside the scenario"`
}

var replyKeys = []string{"value", DoClick, DoFill, DoChoose}

func (r *reply) check(d *decoder) {
	if !d.exactlyOne(r.Position, "answer", replyKeys, r.Value.Exists(), r.Click != "", r.Fill != "",
		r.Choose != "") {
		return
	}
	needs := r.Fill != "" || r.Choose != ""
	switch {
	case needs && !r.With.Exists():
		d.add(r.Position, "with is missing beside %s: write the text, such as {%[1]s: %s, with: Ada}",
			(&Gesture{Fill: r.Fill, Choose: r.Choose}).Kind(), Quoted(r.Fill+r.Choose))
	case !needs && r.With.Exists():
		d.add(r.With.Position(), "with is beside click or value: only fill and choose have it")
	case needs && r.With.n.kind != '"':
		d.add(r.With.Position(), "invalid value for with: it must be text; put text in quotes")
	}
}

func (*reply) constraints() object {
	both := func(key string) object { return required(key, "with") }
	without := func(key string) object {
		o := required(key)
		o["not"] = required("with")
		return o
	}
	return object{"oneOf": []any{without("value"), without(DoClick), both(DoFill), both(DoChoose)}}
}

// add adds a reply to an answer.
func (a *Answer) add(r *reply) {
	if r.Value.Exists() {
		a.Act, a.Value = Accept, r.Value
		return
	}
	a.Gestures = append(a.Gestures, Gesture{r.Position, r.Click, r.Fill, r.Choose, r.With})
}

func (a *Answer) decode(d *decoder, key string, n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		a.word(d, key, n, acts())
	case yaml.SequenceNode:
		a.list(d, key, n)
	default:
		var r reply
		d.structure(n, key, reflect.ValueOf(&r))
		a.add(&r)
	}
	if a.Act == "" && len(a.Gestures) > 0 {
		a.Act = InPage
	}
}

func (a *Answer) word(d *decoder, key string, n *yaml.Node, known []string) {
	if !slices.Contains(known, n.Value) {
		d.add(at(n), "invalid value %s for %s: %s; {value: …} answers with a value, and {click: "+
			"SELECTOR} in the page", Quoted(n.Value), key, instead(n.Value, known))
		return
	}
	if a.Act = Act(n.Value); a.Act == dismiss {
		a.Act = Decline
	}
}

// list reads what the person does in the page, in order, and at last perhaps the answer.
func (a *Answer) list(d *decoder, key string, n *yaml.Node) {
	for i, item := range n.Content {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		before := a.Act
		if item.Kind == yaml.ScalarNode {
			a.word(d, key, item, closing())
		} else {
			var r reply
			d.structure(item, key, reflect.ValueOf(&r))
			a.add(&r)
		}
		if a.Act != before && i < len(n.Content)-1 {
			d.add(at(item), "the answer %s is not the last one of its list: move it to the end", a.Act)
		}
	}
	if len(a.Gestures) == 0 {
		d.add(at(n), "invalid %s: a list says what the person does in the page; write at least one "+
			"of click, fill, choose", key)
	}
}

// closing returns the words that may follow the gestures of a list.
func closing() []string { return []string{string(Accept), string(Decline), string(dismiss)} }

func (*Answer) schema() object {
	one := objectOf(reflect.TypeFor[reply]())
	return object{"anyOf": []any{object{"enum": acts()}, one, object{"type": "array", "minItems": 1,
		"items": object{"anyOf": []any{object{"enum": closing()}, one}}}}}
}

// checkGestures refuses what cannot be done in the page.
func (e *Entry) checkGestures(d *decoder) {
	switch {
	case len(e.Answer.Gestures) == 0:
	case e.On.Kind != "" && e.On.Kind != string(bridge.Interact):
		d.add(e.Position, "invalid answer: a question of the kind %s is not answered in the page; write "+
			"accept, decline, or {on: interact}", e.On.Kind)
	case e.From != "" && e.Answer.Act == InPage:
		d.add(e.Position, "from is beside %s: that is done in the page; remove from",
			e.Answer.Gestures[0].Kind())
	}
}

// String returns the gesture for messages, such as click "#pay".
func (g *Gesture) String() string { return strings.TrimSpace(g.Kind() + " " + Quoted(g.Selector())) }
