package check

import (
	"encoding/json"
	"fmt"

	"github.com/pagetools/pagetools/bridge/webtool"
)

// OfVersion returns the tools of a webtool document, for Diff.
func OfVersion(document json.RawMessage) (*Snapshot, error) {
	var d webtool.Document
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("reading a version: %w", err)
	}
	page := Page{Tools: make([]Tool, len(d.Actions))}
	for i := range d.Actions {
		a := &d.Actions[i]
		page.Tools[i] = Tool{Name: a.Name, Title: a.Title, Description: a.Description, Input: a.RequestSchema, Annotations: a.Annotations,
			Origin: a.Origin, Frame: a.Frame, Adapter: a.Adapter}
		if a.Promises() {
			page.Tools[i].Output = a.ResponseSchema
		}
	}
	return &Snapshot{Target: d.Name, Pages: []Page{page}}, nil
}
