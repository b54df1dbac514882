package opentools

import _ "embed" // of the JSON Schema

// Schema is the JSON Schema of x-llm and of llm.json: #/$defs/root, #/$defs/operation and
// #/$defs/discovery.
//
//go:embed x-llm.schema.json
var Schema []byte
