// Package run runs the cases of scenario files, each in a fresh page, through the page's own
// executeTool, as a webtool, and over MCP.
//
// The smallest program:
//
//	f, err := scenario.Read(name, text)
//	...
//	done, err := run.Files(ctx, []*scenario.File{f}, run.Options{Open: open})
//
// [Files] opens the site of a file, runs its cases and reports them. Each run of a case has a
// caller of its own, whose page, calls and questions end with it. The person of the case answers
// wherever the door asks: in the page, in the MCP client, or as an operator. The results of all
// doors are compared, because a tool must do the same through each. [Open] is for programs that run
// cases one by one, or that call tools without a file: a [Stand] has [Turns] for cases and a
// [Visit] for calls.
package run
