package bridge

import (
	"encoding/json"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Value is a JSON value that was read once, at the edge, with its text.
type Value = schema.Value

// ReadValue reads exactly one JSON value by the strict rules that hold for arguments:
// UTF-8 without half surrogates, no member name twice, nothing behind the value, at
// most maxInputDepth+1 levels (arguments and what they are wrapped in), no absurd
// numbers. what names the value in the message. The error is an *Error.
func ReadValue(what string, b json.RawMessage) (Value, error) {
	v, err := schema.Read(b, maxInputDepth+1)
	if err != nil {
		return v, Errorf(SchemaError, "", NotRun, "%s: %s", what, syntaxText(err)).With(err)
	}
	return v, nil
}
