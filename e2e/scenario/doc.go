// Package scenario is the format of tests of a web app's tools: files that say what is called,
// what is expected, and what the person answers who is asked.
//
// The smallest file:
//
//	site: {dir: ./public}
//	cases:
//	  - name: adds a stamp
//	    steps:
//	      - call: add-stamp
//	        with: {name: Inverted Jenny, year: 1918}
//	        expect: {content: [{text: {$contains: added}}]}
//
// [Read] reads such a file and returns all that is wrong with it at once. A [Case] is a list of
// steps that each door runs: the page's own executeTool, a webtool, and MCP. Each run has a
// [Scope] for its references and [Humans] for its questions. [Match] compares a result with what
// is expected, and [Update] accepts results as the expected ones. [ReadEvals] reads the files of
// webmcp-evals as cases. A [Draft] and a [Recording] are written as files. Package run runs them.
//
// In a value that is expected, an object matches when it has the expected members, an array by
// position and length, and an object whose keys begin with $ is matchers, all of which must hold.
// {$any: true} may be written as $any. In all values, ${steps.NAME.path}, ${env.NAME} and
// ${unique} are references, $${ is the text ${, and a key $$x is the key $x. NAME is the name of
// a step, or of the tool that a step calls: then the last call of that tool counts.
//
// The package is pure: it opens no file and no page.
package scenario
