package shim_test

import (
	"fmt"
	"strings"

	"github.com/pagetools/pagetools/shim"
)

// What a browser evaluates to put the page script into a document and to call a tool of
// it, and what comes back.
func Example() {
	name := shim.NewName()
	source := shim.Source(name)                                               // before any script of the page
	call := shim.Call(name, "call-1", 1, []byte(`{"a":1}`), 1<<20, 0)         // awaited, by value
	fmt.Println(strings.Contains(source, name), strings.Contains(call, name)) // pages cannot learn the name

	reply, err := shim.DecodeReply(`{"k":"ok","rev":1,"ran":true,"len":7,"state":0}` + "\n" + `{"b":2}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Kind, string(reply.Payload))
	// Output:
	// true true
	// ok {"b":2}
}
