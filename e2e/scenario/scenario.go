package scenario

import (
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// The tags of these types are the format: key is the name in files, help the description in the
// JSON Schema, enum the words that are allowed, value the role of a [Value]; one means that a list
// of one may be written without the list. A text marked refs may have references.

// File is a file of scenarios.
type File struct {
	// Name is the name given to [Read], such as the file's path.
	Name string `key:"-"`
	// Within is the folder below which the file was found, or "" where somebody named it. A file
	// that nobody named may be a stranger's: who runs it bounds what it may ask for.
	Within string `key:"-"`
	// Env is the first variable of the environment that the file reads; its Name is "" without one.
	Env Variable `key:"-"`
	Position

	Site  Site     `key:"site" help:"the web app under test"`
	Via   []Door   `key:"via" one:"yes" enum:"page,webtool,mcp,all" help:"the doors that each case runs through: page is the page's own executeTool; all is the default"`
	Lock  string   `key:"lock" help:"a lock file, relative to this file; breaking changes against it fail"`
	Lint  *Lint    `key:"lint" help:"judges the declarations with the rules of pagetools check, too"`
	Tags  []string `key:"tags" one:"yes" help:"words to select cases by; each case of the file has them"`
	Cases []*Case  `key:"cases" required:"yes" help:"the cases; each starts with a fresh page"`
}

// Variable is a variable of the environment, where a file reads it.
type Variable struct {
	Position
	Name string
}

// Door is a way to a tool.
type Door string

// The doors. All is only in files: what was read names the three.
const (
	ThroughPage    Door = "page"
	ThroughWebtool Door = "webtool"
	ThroughMCP     Door = "mcp"
	throughAll     Door = "all"
)

// Doors returns all doors, in the order in which a case runs through them.
func Doors() []Door { return []Door{ThroughPage, ThroughWebtool, ThroughMCP} }

// Site is the web app under test. Its texts may have ${env.NAME}.
type Site struct {
	Position
	Dir     string   `key:"dir" refs:"yes" help:"a folder to serve, relative to this file"`
	URL     string   `key:"url" refs:"yes" help:"the address of the app; beside dir the path of its first page"`
	Serve   string   `key:"serve" refs:"yes" help:"a command that starts the app under url; it is ended after the tests"`
	Adapter []string `key:"adapter" one:"yes" help:"files with scripts that add tools to the pages, relative to this file, or builtin:NAME; besides those of the configuration"`
	Config  Value    `key:"config" value:"sent" keys:"config" help:"what is changed about the page: the settings of a webtool's config, such as locale and viewport, and storageState, a file with a stored login, relative to this file"`
	Network *Network `key:"network" help:"records the network of the page, or answers from a recording"`
}

// Network is a recording of a site's network. Exactly one member is set.
type Network struct {
	Position
	Record string `key:"record" help:"a HAR file to write, relative to this file"`
	Replay string `key:"replay" help:"a HAR file that answers all requests; one that it lacks fails the case"`
}

// Lint says how declarations are judged.
type Lint struct {
	Position
	FailOn string `key:"fail-on" enum:"error,warning,info,never" help:"the least severity that fails; error is the default"`
	Rules  Rules  `key:"rules" help:"changes rules: a severity, or options such as {max: 40}"`
}

// Rules changes rules by their ids: each value is a severity as text, or an object with options.
type Rules []Rule

// Rule is one of them. Whoever knows the rules checks the id and the options, and names Position.
type Rule struct {
	Position
	ID      string
	Options Value
}

// Case is one test.
type Case struct {
	Position
	Name    string   `key:"name" required:"yes" check:"name" help:"what the case shows; unique in the file"`
	Tags    []string `key:"tags" one:"yes" help:"words to select cases by"`
	Skip    string   `key:"skip" check:"reason" help:"why the case does not run"`
	Only    bool     `key:"only" help:"runs only this case; an error under CI"`
	Via     []Door   `key:"via" one:"yes" enum:"page,webtool,mcp,all" help:"the doors of this case, instead of the file's"`
	Human   []Entry  `key:"human" help:"what the person answers who is asked"`
	Retries *int     `key:"retries" min:"0" max:"10" help:"how often the case is repeated when it fails, in the place of what holds for the run"`
	Steps   []Step   `key:"steps" required:"yes" help:"what is done and expected, in order"`

	// Eval says where the case came from, when it is of an evals.json.
	Eval *Eval `key:"-"`
}

// Kind says what a step does.
type Kind string

// The kinds of steps: the key that each has.
const (
	DoCall     Kind = "call"
	DoTools    Kind = "tools"
	DoOpen     Kind = "open"
	DoPage     Kind = "page"
	DoWait     Kind = "wait-for"
	DoReload   Kind = "reload"
	DoParallel Kind = "parallel"
)

// Step is one step of a case. Its [Step.Kind] says which members count.
type Step struct {
	Position
	Name string `key:"name" check:"step" help:"the name for references to the result; a call has that of its tool, the last one of the name counts"`

	Call        string        `key:"call" check:"tool" help:"calls this tool"`
	With        Value         `key:"with" value:"sent" help:"the arguments of the call; none is {}"`
	Expect      Value         `key:"expect" value:"expected" help:"matches the result, as a webtool has it in data"`
	ExpectError Value         `key:"expect-error" value:"expected" help:"the call must fail; matches its error: code, message, reason, outcome"`
	Within      time.Duration `key:"within" help:"the longest that the step may take, such as 500ms or 2s"`
	Effects     *Effects      `key:"effects" help:"all that the call may touch"`
	Seen        *int          `key:"calls-seen-by-page" min:"0" max:"1000" help:"how often the page's own code was run by the call"`

	Tools    *Tools   `key:"tools" help:"the list of tools at this moment"`
	Open     string   `key:"open" refs:"yes" help:"navigates to this address, relative to the page's"`
	Page     []Look   `key:"page" one:"yes" help:"what the page shows, after what the step does"`
	Wait     *WaitFor `key:"wait-for" help:"waits until this is there"`
	Reload   bool     `key:"reload" help:"true: loads the page again"`
	Parallel []Step   `key:"parallel" help:"steps at once; none can refer to another"`
}

// Kind returns what the step does.
func (s *Step) Kind() Kind {
	for _, k := range s.kinds() {
		if k != DoPage {
			return k
		}
	}
	return DoPage
}

func (s *Step) kinds() (all []Kind) {
	for _, k := range []struct {
		kind Kind
		is   bool
	}{
		{DoCall, s.Call != ""}, {DoTools, s.Tools != nil}, {DoOpen, s.Open != ""}, {DoPage,
			s.Page != nil},
		{DoWait, s.Wait != nil}, {DoReload, s.Reload}, {DoParallel, s.Parallel != nil},
	} {
		if k.is {
			all = append(all, k.kind)
		}
	}
	return all
}

// Ref is the name by which later steps refer to the result of a call: its own, or its tool's.
// It is "" for other steps.
func (s *Step) Ref() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Call
}

// Title is the step for reports, such as "call add-stamp".
func (s *Step) Title() string {
	title := string(s.Kind())
	switch s.Kind() {
	case DoCall:
		title += " " + s.Call
	case DoOpen:
		title += " " + s.Open
	case DoPage:
		title += " " + s.Page[0].Selector()
	default:
	}
	if s.Name != "" {
		title += " (" + s.Name + ")"
	}
	return text.EscapeLine(title)
}

// Tools says what the list of tools must be. At least one member is set; an empty Exactly that
// is not nil means no tools.
type Tools struct {
	Position
	Include    []string   `key:"include" one:"yes" help:"tools that are there"`
	Exclude    []string   `key:"exclude" one:"yes" help:"tools that are not there"`
	Exactly    []string   `key:"exactly" help:"all tools, in any order"`
	Eventually Eventually `key:"eventually" help:"waits for it: true is 5s"`
}

// Eventually limits how long something may take to become true; 0 means that it must be true now.
type Eventually time.Duration

// Look is a look at the page. Exactly one of Text, Value, Count and Visible is set: a CSS selector.
type Look struct {
	Position
	Text    string `key:"text" help:"a selector: the text of the first element"`
	Value   string `key:"value" help:"a selector: the value of the first form field"`
	Count   string `key:"count" help:"a selector: how many elements there are"`
	Visible string `key:"visible" help:"a selector: whether an element is there and can be seen"`
	Matches Value  `key:"matches" value:"expected" help:"matches what is looked at: a text, a number, or true and false; for visible, true is the default"`
}

// Selector returns the CSS selector.
func (l *Look) Selector() string { return l.Text + l.Value + l.Count + l.Visible }

// WaitFor says what a step waits for. Exactly one member is set.
type WaitFor struct {
	Position
	Tool     string `key:"tool" help:"a tool with this name"`
	Selector string `key:"selector" help:"an element that this CSS selector finds"`
	Idle     bool   `key:"idle" help:"true: an idle network"`
}

// Entry answers a question that fits it, for the person. One without On, Title and Message
// fits every question.
type Entry struct {
	Position
	On      On            `key:"on" help:"the questions that the entry is for: a kind, or {kind, tool, title}"`
	Title   Value         `key:"title" value:"expected" help:"matches the title of the question"`
	Message Value         `key:"message" value:"expected" help:"matches what the page says in it"`
	Answer  Answer        `key:"answer" required:"yes" help:"what is answered, or what the person does in the page: one thing, or a list that an answer may end"`
	After   time.Duration `key:"after" help:"how long the person takes, such as 2s"`
	Times   int           `key:"times" min:"1" max:"1000" help:"how many questions the entry answers; 1 is the default"`
	From    string        `key:"from" enum:"terminal,console,elicitation" help:"where the person answers; anywhere is the default"`
}

// On says which questions an entry is for. Empty members count for all.
type On struct {
	Position
	// Kind is approve, confirm, prompt, interact, or dialog, which is confirm or prompt.
	Kind  string `key:"kind" enum:"approve,confirm,prompt,interact,dialog" help:"the kind of the question; dialog is confirm or prompt"`
	Tool  Value  `key:"tool" value:"expected" help:"matches the name of the tool that asks"`
	Title Value  `key:"title" value:"expected" help:"matches the title of the question"`
}

// Act says what a person does with a question.
type Act string

// What can be done. Refused leaves the question open: the next entry that fits it answers it.
const (
	Accept  Act = "accept"
	Decline Act = "decline" // also read from dismiss
	Fill    Act = "fill"    // accepts with a value made from the question's schema
	Ignore  Act = "ignore"  // nobody answers
	Late    Act = "late"    // accepts after the question has ended
	Twice   Act = "twice"   // accepts two times
	Refused Act = "refused" // an answer by somebody who may not give it
	dismiss Act = "dismiss"
	// InPage leaves the answer to the page, in which the person acts; files have gestures for it.
	InPage Act = "in the page"
)

func acts() []string {
	var words []string
	for _, a := range []Act{Accept, Decline, dismiss, Fill, Ignore, Late, Twice, Refused} {
		words = append(words, string(a))
	}
	return words
}

// Answer is the answer of an entry.
type Answer struct {
	Act Act
	// Value is the value of an accepted prompt or form; it does not exist where there is none.
	Value Value
	// Gestures lists the person's acts in the page, which come first, in order.
	Gestures []Gesture
	// After and From come from the entry.
	After time.Duration
	From  string
}

// Question holds the kind, the tool and the title of a [bridge.Question], and its detail, the
// page's own text, as Message.
type Question struct {
	Kind                 bridge.Kind
	Tool, Title, Message string
}
