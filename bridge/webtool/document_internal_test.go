package webtool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
)

// TestParts: a document written in parts equals one written at once.
func TestParts(t *testing.T) {
	raw := json.RawMessage(`{"type":"object","properties":{"b":{"const":1.0},"a":{}}}`)
	tool := NewAction(Action{Name: "add", Description: `"actions":null ]`, Annotations: json.RawMessage(`{"z":true,"a":1}`)}, raw, nil)
	for _, actions := range [][]Action{{}, {tool}, {tool, NewAction(Action{Name: "x", Title: "\u2028<é\xff\xfe>", Origin: "https://a.example", Frame: "f"}, nil, raw)},
		{{Name: "old", Schema: raw}}} {
		d := Draft(`the "actions":null of`, "d", actions, Config{Schema: raw, Default: json.RawMessage(`{"b":1,"a":2}`)})
		plain := *d
		plain.Digest = ""
		sum := sha256.Sum256(canonical(schema.MustEncode(&plain)))
		if d.Digest != hex.EncodeToString(sum[:]) {
			t.Errorf("the digest of %d actions in parts is another one", len(actions))
		}
		if want, err := schema.Encode(d.Finish("1.2.3")); err != nil || string(d.JSON()) != string(want) {
			t.Errorf("%s, want %s (%v)", d.JSON(), want, err)
		}
	}
}
