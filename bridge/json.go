package bridge

import (
	"encoding/json"

	"github.com/pagetools/pagetools/bridge/schema"
)

// CheckJSON checks that b is exactly one JSON value by the strict rules that
// hold for arguments: UTF-8 without half surrogates, no member name twice,
// nothing behind the value, at most maxInputDepth+1 levels (arguments and what
// they are wrapped in), no absurd numbers. what names the value in the message.
// The error is an *Error.
func CheckJSON(what string, b json.RawMessage) error {
	if err := schema.CheckJSON(b, maxInputDepth+1); err != nil {
		return Errorf(SchemaError, "", NotRun, "%s: %s", what, syntaxText(err)).With(err)
	}
	return nil
}
