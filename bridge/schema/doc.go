// Package schema compiles and checks JSON Schemas that strangers wrote, and the values that have to
// fit them.
//
// A schema comes from a page that nobody vetted, so it is an input to be attacked with: references
// to files, documents whose evaluation doubles at every step, patterns that backtrack for ever. The
// package therefore works in three steps, and each one only ever sees what the one before it let
// through:
//
//  1. Strict JSON ([CheckJSON]): UTF-8, no duplicate names, a depth cap, no number that takes a megabyte to write out.
//  2. A static check of the schema ([Compile]): size, depth, count, local references only, no reference cycle that
//     consumes nothing, and a bound on how many subschemas one value can meet ([Limits]).
//  3. For every value ([Schema.Validate]): its cost is computed before the library runs, from the same graph that the
//     static check built. What costs too much is refused; it is never accepted unchecked. Patterns have a time budget.
//
// What is decided here and not by the JSON Schema specification:
//   - "format" is an annotation in every draft: browsers don't check it for the page, so refusing here what the page
//     would take only breaks calls.
//   - The root describes an object. Without "type" it is treated as one: [Schema.Validate] refuses any other value.
//   - "$id" at the root is dropped (there is one document, nothing can refer to it by that name). An "$id" further down
//     that is more than a fragment would change what "#" means there, so it is refused.
//   - Numbers are exact: 9007199254740993 is not 9007199254740992, and 1.0 is an integer.
//
// [Compare] and [Accepts] report what changed between two schemas that were both admitted;
// [Canonical] returns the bytes to digest. The package imports no other package of this module.
package schema
