package bridgetest

import (
	"encoding/json"

	"github.com/pagetools/pagetools/bridge"
)

const origin = "https://site.example"

// Tool declares a read-only tool of the site's own top page, which runs without
// asking. An empty schema takes any object.
func Tool(name, inputSchema string) bridge.Declaration {
	d := bridge.Declaration{ID: 1, Document: "d1", Origin: origin, Own: true, Name: name,
		Description: "The tool " + name + ".", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}
	if inputSchema != "" {
		d.Input = json.RawMessage(inputSchema)
	}
	return d
}

// Asking declares a tool that needs a person's consent.
func Asking(name, inputSchema string) bridge.Declaration {
	d := Tool(name, inputSchema)
	d.Annotations = nil
	return d
}

// Returning adds an outputSchema to the declaration.
func Returning(d bridge.Declaration, outputSchema string) bridge.Declaration {
	d.Output = json.RawMessage(outputSchema)
	return d
}
