package toolset

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
)

// Arguments returns an empty object where there are no arguments.
func Arguments(arguments bridge.Value) bridge.Value {
	if !arguments.Exists() || arguments.IsNull() {
		return emptyObject
	}
	return arguments
}

var emptyObject = func() bridge.Value {
	v, err := bridge.ReadValue("the arguments", json.RawMessage("{}"))
	if err != nil {
		panic(err)
	}
	return v
}()

// Restore returns a client's arguments with the names of properties that the page chose.
func (t Target) Restore(arguments bridge.Value) (bridge.Value, *bridge.Error) {
	if arguments.IsString() {
		return bridge.Value{}, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
			`The arguments are a text. They must be a JSON object: write {"a": 1}, and not "{\"a\": 1}".`)
	}
	v, err := t.form.Restore(arguments)
	if err != nil {
		return bridge.Value{}, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
			"The arguments cannot be read: %s.", err)
	}
	return v, nil
}

// Promises reports whether clients of the protocol version may know an outputSchema of the
// tool: one that was listed, or is.
func (t Target) Promises(e Protocol) bool {
	_, output := t.Tool.Schemas()
	if output == nil {
		return false
	}
	listed, _ := output.OutputForClients(e.Modern())
	return listed != nil
}

// Told returns an error of a call such that it names arguments as the client knows them.
func (t Target) Told(e *bridge.Error) *bridge.Error {
	list, ok := e.Details["errors"].([]map[string]string)
	if e.Code != bridge.SchemaError || !ok || t.form == nil {
		return e
	}
	var v *schema.Violations
	var named []schema.Violation
	if errors.As(e.Err, &v) && len(v.List) == len(list) {
		named = v.Named(t.form.Name)
	}
	told := *e
	told.Details = maps.Clone(e.Details)
	out := make([]map[string]string, len(list))
	for i, one := range list {
		out[i] = map[string]string{"pointer": t.form.Pointer(one["pointer"]), "message": one["message"]}
		if named != nil {
			out[i]["message"] = named[i].Message
		}
		if i == 0 {
			told.Message = strings.Replace(told.Message, one["pointer"]+": "+one["message"],
				out[i]["pointer"]+": "+out[i]["message"], 1)
		}
	}
	told.Details["errors"] = out
	return &told
}
