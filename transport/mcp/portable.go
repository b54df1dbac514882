package mcp

import (
	"encoding/json"
	"strings"
)

// Clients before 2026-07-28 compile every outputSchema when they read the list, most
// with a validator of draft 07, and some throw the whole list away when it cannot be
// compiled. So they get a schema only when it is made of words that all validators
// take alike.

// portableWords are keywords that mean the same from draft 06 to 2020-12, and to
// Ajv without strict mode.
var portableWords = map[string]bool{
	"$schema": true, "$comment": true, "title": true, "description": true, "default": true, "examples": true,
	"deprecated": true, "readOnly": true, "writeOnly": true, "contentEncoding": true, "contentMediaType": true, "format": true,
	"type": true, "enum": true, "const": true, "properties": true, "required": true, "additionalProperties": true,
	"items": true, "minItems": true, "maxItems": true, "uniqueItems": true, "minProperties": true, "maxProperties": true,
	"minLength": true, "maxLength": true, "minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true,
	"allOf": true, "anyOf": true, "oneOf": true, "not": true, "if": true, "then": true, "else": true,
	"$ref": true, "$defs": true, "definitions": true,
}

// besideRef are the keywords that may stand beside "$ref", where old drafts ignore
// what new ones check.
var besideRef = map[string]bool{
	"$ref": true, "$schema": true, "$id": true, "$comment": true, "title": true, "description": true, "default": true, "examples": true,
	"deprecated": true, "readOnly": true, "writeOnly": true, "$defs": true, "definitions": true,
}

// unportable names what is not portable in a schema that is normalised, or gives "".
func unportable(root *node) string {
	if s := root.get("$schema"); s != nil && !knownDialect(s) {
		return "this $schema"
	}
	return unportableIn(root, true)
}

// knownDialect tells whether "$schema" names a draft in which portableWords mean the
// same. The keyword itself is left out of the list: a validator of another draft
// refuses it.
func knownDialect(s *node) bool {
	var uri string
	if json.Unmarshal(s.raw, &uri) != nil {
		return false
	}
	_, path, _ := strings.Cut(strings.TrimSuffix(uri, "#"), "://json-schema.org/")
	switch path {
	case "draft-06/schema", "draft-07/schema", "draft/2019-09/schema", "draft/2020-12/schema":
		return true
	}
	return false
}

func unportableIn(n *node, root bool) string {
	ref := n.get("$ref") != nil
	for i, key := range n.keys {
		v := n.vals[i]
		if why := unportableWord(key, v, root); why != "" {
			return why
		}
		if ref && !besideRef[key] && (!root || key != "type") { // the type of the root holds in any case
			return "keywords beside $ref"
		}
		var inner []*node
		switch holders[key] {
		case heldByName, heldInList:
			inner = v.vals
		case heldAlone, heldOrFlag:
			inner = []*node{v}
		}
		for _, s := range inner {
			if s.kind != '{' {
				continue
			}
			if why := unportableIn(s, false); why != "" {
				return why
			}
		}
	}
	return ""
}

func unportableWord(key string, v *node, root bool) string {
	switch {
	case key == "$id" && root:
		return ""
	case !portableWords[key] && !strings.HasPrefix(key, "x-"):
		return "\"" + clipName(key) + "\""
	case (key == "exclusiveMinimum" || key == "exclusiveMaximum") && v.kind != '0',
		key == "items" && v.kind == '[',
		key == "$schema" && !root,
		key == "enum" && len(v.vals) == 0:
		return "this form of \"" + key + "\""
	case key == "$ref" && !v.is("#") && !strings.HasPrefix(string(v.raw), `"#/`):
		return "this form of \"$ref\""
	}
	return ""
}
