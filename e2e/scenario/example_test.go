package scenario_test

import (
	"fmt"

	"github.com/pagetools/pagetools/bridge"
	. "github.com/pagetools/pagetools/e2e/scenario"
)

// A file is read once; what is wrong with it is said all at once.
func ExampleRead() {
	_, err := Read("stamps.webtool.yaml", []byte(`site: {dir: ./public}
cases:
  - name: adds a stamp
    step:
      - call: add-stamp
`))
	fmt.Println(err)
	// Output:
	// stamps.webtool.yaml:3:5: steps is missing in case: add it (what is done and expected, in order)
	// stamps.webtool.yaml:4:5: unknown key "step" in case: did you mean steps?
}

// A mismatch says where two values differ, and why.
func ExampleMatch() {
	want, err := Expected([]byte(`{"content": [{"text": {"$contains": "added"}}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := Match(want, []byte(`{"content": [{"type": "text", "text": "The stamp is a duplicate."}]}`))
	fmt.Println(m.Why)
	fmt.Println(m.Actual)
	// Output:
	// content[0].text is "The stamp is a duplicate.", and must contain "added".
	//   {
	//     "content": [
	//       {
	//         "type": "text",
	// >       "text": "The stamp is a duplicate."
	//       }
	//     ]
	//   }
}

// A call leaves its result for the steps after it.
func ExampleScope() {
	scope := &Scope{Unique: "7f3a"}
	scope.Keep("add", []byte(`{"structuredContent": {"id": 42}}`))
	text, err := scope.Text("/stamps/${steps.add.structuredContent.id}?q=${unique}")
	fmt.Println(text, err)
	// Output: /stamps/42?q=7f3a <nil>
}

// The person of a case answers questions, and knows which answers nobody asked for.
func ExampleHumans() {
	f, err := Read("x", []byte(`cases: [{name: buys, human: [{on: dialog, answer: accept}, {answer: decline}], steps: [{call: buy}]}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var h Humans
	if err := h.Add(&Scope{}, f.Cases[0].Human...); err != nil {
		fmt.Println(err)
		return
	}
	answer, err := h.Next(Question{Kind: bridge.Confirm, Tool: "buy", Message: "Buy it?"})
	fmt.Println(answer.Act, err, len(h.Left()))
	// Output: accept <nil> 1
}

// Results are accepted without a change to the rest of the file.
func ExampleUpdate() {
	text := []byte(`cases:
  - name: adds   # the first
    steps:
      - call: add-stamp
        expect: {id: {$type: number}, text: old}
`)
	f, err := Read("x", text)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err = Update(text, []Change{{Expected: f.Cases[0].Steps[0].Expect, Actual: []byte(`{"id": 1, "text": "new", "more": true}`)}})
	fmt.Print(string(text), err)
	// Output:
	// cases:
	//   - name: adds   # the first
	//     steps:
	//       - call: add-stamp
	//         expect: {id: {$type: number}, text: new}
	// <nil>
}
