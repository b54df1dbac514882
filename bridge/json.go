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
	return unreadable(what, schema.CheckJSON(b, maxInputDepth+1))
}

// ReadObject is CheckJSON, and gives the members of an object. They are parts of
// b, and nil when it is another value.
func ReadObject(what string, b json.RawMessage) (Object, error) {
	members, ok, err := schema.ReadObject(b, maxInputDepth+1)
	if err != nil {
		return nil, unreadable(what, err)
	}
	if ok && members == nil {
		members = []schema.Member{}
	}
	return members, nil
}

func unreadable(what string, err error) error {
	if err == nil {
		return nil
	}
	return Errorf(SchemaError, "", NotRun, "%s: %s", what, syntaxText(err)).With(err)
}

// Object is the members of a JSON object, in their order.
type Object []schema.Member

// Get gives a member's value, or nil.
func (o Object) Get(name string) json.RawMessage {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}
