package webtool_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
)

// These checks say by hand what the webtools documents say about messages, so
// that no schema library judges its own work.

var (
	semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	upper  = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

type object = map[string]any

func checkSemantics(t *testing.T, kind, text string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Errorf("%s: %v: %q", kind, err, text)
		return
	}
	if problem := semantics[kind](v); problem != "" {
		t.Errorf("not a valid %s: %s: %s", kind, problem, text)
	}
}

var semantics = map[string]func(any) string{
	"ok": func(v any) string {
		o, _ := v.(object)
		_, data := o["data"]
		_, failed := o["error"]
		if o["status"] != "ok" || !data || failed || len(o) != 2 {
			return "status, data"
		}
		return ""
	},
	"error": func(v any) string {
		o, _ := v.(object)
		e, _ := o["error"].(object)
		_, data := o["data"]
		code, _ := e["code"].(string)
		switch {
		case o["status"] != "error" || data || len(o) != 2:
			return "status, error"
		case !upper.MatchString(code) || !text(e["message"]):
			return "code, message"
		case e["outcome"] != "not_run" && e["outcome"] != "failed" && e["outcome"] != "unknown":
			return "outcome"
		}
		for key := range e {
			switch key {
			case "code", "message", "reason", "outcome", "details":
			default:
				return "error." + key
			}
		}
		return ""
	},
	"legacyError": func(v any) string {
		o, _ := v.(object)
		if !text(o["error"]) || len(o) != 1 {
			return "error must be the only key, and text"
		}
		return ""
	},
	"metadata": metadata,
}

// metadata serves both dialects: requestSchema and schema are the same.
func metadata(v any) string {
	o, _ := v.(object)
	version, _ := o["version"].(string)
	actions, isArray := o["actions"].([]any)
	_, config := o["configSchema"].(object)
	_, defaults := o["defaultConfig"].(object)
	switch {
	case !text(o["name"]) || !text(o["description"]):
		return "name, description"
	case !semver.MatchString(version):
		return "version"
	case !isArray || !config || !defaults:
		return "actions, configSchema, defaultConfig"
	}
	for i, v := range actions {
		a, _ := v.(object)
		request, _ := a["requestSchema"].(object)
		_, response := a["responseSchema"].(object)
		_, properties := request["properties"].(object)
		if !text(a["name"]) || !text(a["description"]) || !response || request["type"] != "object" || !properties {
			return fmt.Sprintf("actions[%d]", i)
		}
		if fmt.Sprint(a["schema"]) != fmt.Sprint(a["requestSchema"]) {
			return fmt.Sprintf("actions[%d].schema", i)
		}
	}
	return ""
}

func text(v any) bool { s, ok := v.(string); return ok && s != "" }

// TestSemanticsCatch plants faults: a check that finds nothing proves nothing.
func TestSemanticsCatch(t *testing.T) {
	t.Parallel()
	for kind, bad := range map[string][]string{
		"ok":          {`{}`, `{"status":"ok"}`, `{"status":"ok","data":1,"error":{}}`, `[]`, `{"status":"error","data":1}`},
		"error":       {`{}`, `{"status":"error","error":"x"}`, `{"status":"error","error":{"code":"x","message":"m","outcome":"failed"}}`, `{"status":"error","error":{"code":"X","message":"","outcome":"failed"}}`, `{"status":"error","error":{"code":"X","message":"m"}}`, `{"status":"error","data":1,"error":{"code":"X","message":"m","outcome":"failed"}}`},
		"legacyError": {`{}`, `{"error":""}`, `{"error":{"code":"X"}}`, `{"error":"x","status":"error"}`},
		"metadata":    {`{}`, `{"name":"a","description":"b","version":"1","actions":[],"configSchema":{},"defaultConfig":{}}`, `{"name":"a","description":"b","version":"1.0.0","actions":[{}],"configSchema":{},"defaultConfig":{}}`},
	} {
		for _, text := range bad {
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Fatal(err)
			}
			if semantics[kind](v) == "" {
				t.Errorf("%s is taken for a valid %s", text, kind)
			}
		}
	}
}
