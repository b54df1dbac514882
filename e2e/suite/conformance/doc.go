// Package conformance tests what a script of a page can observe of WebMCP. Its cases are in
// e2e/suite/testdata/conformance, one file per behavior, and run in a stock Chromium with our
// script in the page, and with -native in a Chromium with its own WebMCP and nothing of ours. Where
// the two differ, differences.json says what each returns, which is right, and which decision says
// so.
package conformance
