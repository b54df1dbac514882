package schema_test

import (
	"fmt"

	"github.com/pagetools/pagetools/bridge/schema"
)

// A schema of a stranger is compiled once, under limits, and checks values that were
// read once.
func ExampleCompile() {
	s, err := schema.Compile([]byte(`{"type":"object","properties":{"n":{"type":"integer","maximum":5}}}`), schema.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := schema.Read([]byte(`{"n":7}`), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Check(v))
	// Output: "n" must be at most 5
}

// The difference of two schemas decides which number of a version goes up.
func ExampleCompare() {
	old := []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	fmt.Println(schema.Compare(old, []byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`), schema.Request))
	fmt.Println(schema.Compare(old, []byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`), schema.Request))
	// Output:
	// minor
	// major
}
