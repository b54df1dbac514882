package effects

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/session"
)

// mismatch says how what the schema of a form's tool admits and what the form takes differ, or is
// "". The form is filled in a copy that no script of the page sees, and validated.
func mismatch(ctx context.Context, p session.Inspector, tool string, input json.RawMessage) string {
	tries := append(Samples(input, true), others(input)...)
	inputs := make([]json.RawMessage, len(tries))
	for i := range tries {
		inputs[i] = tries[i].Input
	}
	refused, err := p.Accepts(ctx, tool, inputs)
	if err != nil || len(refused) != len(tries) {
		return "" // the page is another one by now
	}
	for i, why := range refused {
		switch {
		case tries[i].Valid && why != "":
			return fmt.Sprintf("the schema admits %s, and the form refuses it (%s).", tries[i].Input, why)
		case !tries[i].Valid && why == "":
			return fmt.Sprintf("the schema refuses %s, and the form takes it.", tries[i].Input)
		}
	}
	return ""
}

// others are more arguments that fit: for each number and each text with a pattern another one
// than in Samples.
func others(input json.RawMessage) (all []Arguments) {
	compiled, err := schema.Compile(input, schema.Limits{})
	if err != nil {
		return nil
	}
	root, err := schema.Read(compiled.JSON(), schemaMax)
	if err != nil {
		return nil
	}
	m := maker{root: root}
	for name, property := range root.Get("properties").Members() {
		full := m.object(root, true, 0)
		switch n := full[name].(type) {
		case float64:
			full[name] = n + 1
		case string:
			if !property.Get("pattern").Exists() {
				continue
			}
			full[name] = "- " + n + " -"
		default:
			continue
		}
		if text := encode(full); compiled.Validate(text) == nil {
			all = append(all, Arguments{Input: text, Valid: true})
		}
	}
	return all
}
