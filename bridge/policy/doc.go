// Package policy decides: whether a call may run, must be asked about or is refused ([Decide]), and
// how often callers may call ([Rates]). It does no I/O, holds no clock and imports no other package
// of this module, so that every rule can be tested over all its inputs.
//
// The one idea: levels are ordered (auto < ask-once < ask < never), the operator picks one, and
// everything else (the page's hints, the site's published terms, the request's own config) can only
// raise it. The single exception is an operator's choice too: in the modes ask and deny, naming a
// site trusts one claim of its own top-level origin, readOnlyHint.
package policy
