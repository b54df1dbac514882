// Package js holds the scripts that run in pages. The sources are plain ES2022 modules under src;
// package build bundles them, and dist has the result, committed, so that neither a build nor a
// test of the Go code needs Node.
package js

import "embed"

//go:generate go run ./build/bundle

// Shim is the bundle of src/shim: a JavaScript expression, a function of the tab's
// secret that returns the object that package shim talks to.
//
//go:embed dist/shim.js
var Shim string

// Adapter is the bundle of src/adapter: an expression, a function of what the page script lends it,
// that returns the function which runs adapters.
//
//go:embed dist/adapter.js
var Adapter string

// Saves is the bundle of src/saves: an expression, a function of what the page script lends it,
// that counts what pages save.
//
//go:embed dist/saves.js
var Saves string

// PageServers is the adapter that offers the tools of MCP servers in pages.
//
//go:embed adapters/page-servers.js
var PageServers string

// Wait is the bundle of src/wait: an expression whose value is a function that waits for an
// element.
//
//go:embed dist/wait.js
var Wait string

// Look is the bundle of src/look: an expression whose value is a function that says what the
// elements of a selector show.
//
//go:embed dist/look.js
var Look string

// Aim is the bundle of src/aim: an expression whose value is a function that says where a person
// meets an element.
//
//go:embed dist/aim.js
var Aim string

// Answer is the bundle of src/answer: an expression whose value says what a document shows to
// whoever submits a form in it.
//
//go:embed dist/answer.js
var Answer string

// Drive is the bundle of src/drive: an expression, a function of the recorder's own, that does what the scripts of a page can do with its tools.
//
//go:embed dist/drive.js
var Drive string

// Accepts is the bundle of src/accepts: an expression whose value is a function that says which
// inputs the form of a tool takes.
//
//go:embed dist/accepts.js
var Accepts string

// Record is the bundle of src/record: an expression, a function of a name for its messages between
// frames and of what of the interface the page is shown, that returns the function that returns
// what was noted.
//
//go:embed dist/record.js
var Record string

// Native is the bundle of src/shim/native.js, of the same kind: for pages that get the
// browser's own WebMCP.
//
//go:embed dist/native.js
var Native string

// Console holds the bundle of src/console, the scripts of the operator's page: main.js shows its first
// screen, with chunk.js, and rest.js all others.
//
//go:embed dist/console
var Console embed.FS

// Card is the page of src/card with its style and its script in it: on it, hosts of MCP Apps show
// questions to people. It has @CARD-KEY@ and @CARD-LINK@ where its server puts the key with which
// it proves its requests, and the address of the operators' page.
//
//go:embed dist/card.html
var Card string

// ConsoleHTML is the operator's page.
//
//go:embed src/console/index.html
var ConsoleHTML string

// ConsoleCSS is its style.
//
//go:embed src/console/console.css
var ConsoleCSS string
