package effects

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/session"
)

// mismatch says how what the schema of a form's tool admits and what the form takes differ, or is
// "". The form is filled in a copy that no script of the page sees, and validated.
func mismatch(ctx context.Context, p session.Inspector, tool string, input json.RawMessage) string {
	samples := schema.Samples(input, true)
	tries := slices.Concat(samples, others(input, samples))
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

const schemaDepth = 64

// others are more arguments that fit: for each number and each text with a pattern another one
// than in Samples.
func others(input json.RawMessage, samples []schema.Sample) (all []schema.Sample) {
	var full map[string]any
	for _, s := range samples {
		if s.Valid {
			full = nil
			_ = json.Unmarshal(s.Input, &full)
		}
	}
	compiled, err := schema.Compile(input, schema.Limits{})
	if err != nil || full == nil {
		return nil
	}
	root, err := schema.Read(compiled.JSON(), schemaDepth)
	if err != nil {
		return nil
	}
	properties := root.Get("properties")
	for _, name := range slices.Sorted(maps.Keys(full)) {
		was := full[name]
		switch x := was.(type) {
		case float64:
			full[name] = x + 1
		case string:
			if !properties.Get(name).Get("pattern").Exists() {
				continue
			}
			full[name] = "- " + x + " -"
		default:
			continue
		}
		if made := schema.MustEncode(full); compiled.Validate(made) == nil {
			all = append(all, schema.Sample{Input: made, Valid: true})
		}
		full[name] = was
	}
	return all
}
