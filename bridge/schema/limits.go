package schema

import (
	"cmp"
	"fmt"
)

// Limits bound what a schema may be. A zero field is the default of the contract.
type Limits struct {
	Bytes      int // length of the schema as it came; 0 means 64 KiB
	Depth      int // schemas inside schemas, the root being the first; 0 means 32
	Subschemas int // schemas in all, the root included; 0 means 2,000
	Expansions int // schemas that one value can meet through references and in-place keywords; 0 means 10,000
	Pattern    int // bytes of one regular expression; 0 means 512
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.Bytes, 64<<10)
	set(&l.Depth, 32)
	set(&l.Subschemas, 2000)
	set(&l.Expansions, 10000)
	set(&l.Pattern, 512)
	return l
}

// Rules that a schema can break. They are stable: findings and tests name them.
const (
	RuleTooLarge      = "schema-too-large"
	RuleTooDeep       = "schema-too-deep"
	RuleTooMany       = "schema-too-many-subschemas"
	RuleExpands       = "schema-expands"
	RuleRemoteRef     = "schema-remote-ref"
	RuleRefNotFound   = "schema-ref-not-found"
	RuleRefCycle      = "schema-ref-cycle"
	RuleID            = "schema-id"
	RuleDraft         = "schema-unknown-draft"
	RulePattern       = "schema-pattern"
	RuleInvalid       = "schema-invalid"
	RuleNotJSON       = "schema-not-json"
	RuleRootNotObject = "schema-root-not-object"
)

// Rules of slips, which cost no tool.
const (
	RuleKeyword = "schema-malformed-keyword"
	RuleUnknown = "schema-unknown-keyword"
	RuleMap     = "schema-bare-map"
)

// CompileError says why a schema is refused.
type CompileError struct {
	Rule    string // one of the Rule constants
	Pointer string // RFC 6901, into the schema; "" is the root
	Message string // fit for the author of the schema
}

// Error names the place, the reason and the rule.
func (e *CompileError) Error() string {
	return fmt.Sprintf("schema refused at %s: %s (%s)", cmp.Or(e.Pointer, "the root"), e.Message, e.Rule)
}

func refusef(rule, ptr, format string, args ...any) *CompileError {
	return &CompileError{Rule: rule, Pointer: shortPointer(ptr),
		Message: fmt.Sprintf(format, args...)}
}
