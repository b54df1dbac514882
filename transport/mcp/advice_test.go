package mcp

import (
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
)

// TestModelAdvice (D7): what a model is told to do is true in every situation.
func TestModelAdvice(t *testing.T) {
	internal := func(reason bridge.Reason, o bridge.Outcome) *bridge.Error {
		return bridge.Errorf(bridge.InternalError, reason, o, "No.")
	}
	after := func(d time.Duration) *bridge.Error {
		e := bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "No.")
		e.Retry = d
		return e
	}
	const often = "No.\nLet other calls end first, or call less often.\n"
	for situation, c := range map[string]struct {
		err  *bridge.Error
		says string
	}{
		"a moment":                    {after(time.Millisecond), often + "Wait 1 second before you try again."},
		"a second":                    {after(time.Second), often + "Wait 1 second before you try again."},
		"more than a second":          {after(time.Second + 1), often + "Wait 2 seconds before you try again."},
		"a site that is down":         {internal(bridge.Unreachable, bridge.NotRun), "No.\nNothing ran, so it can be called again."},
		"a certificate":               {internal(bridge.Certificate, bridge.NotRun), "No.\nNothing ran. The operator of pagetools decides which certificates are accepted."},
		"a blocked address":           {internal(bridge.OriginBlocked, bridge.NotRun), "No.\nNothing ran. The operator of pagetools decides what the site may reach."},
		"a crash":                     {internal(bridge.PageCrashed, bridge.Unknown), "No.\nThe next call opens a new page.\nIt may have run: find out before you repeat it."},
		"a tool that takes its time":  {internal(bridge.Timeout, bridge.Unknown), "No.\nIt may have run: find out before you repeat it."},
		"a page that takes its time":  {internal(bridge.Timeout, bridge.NotRun), "No.\nNothing ran, so it can be called again."},
		"another caller's page waits": {bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "No."), "No.\nIt has to end first."},
		"a call of the caller's own waits": {bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "No.").
			Detail("question", &bridge.Question{Kind: bridge.Confirm, Title: "T", Tool: "look"}),
			"No. \"look\" waits for a person, and only the user can answer. T. pagetools_waiting lists your calls that wait, and can decline for one.\nIt has to end first."},
		"no call of that number": {notWaiting(3),
			"No call of yours waits under the number 3. Without arguments, pagetools_waiting lists those that wait.\nCorrect the arguments by the tool's inputSchema, and call it again."},
		"a tool that says no": {bridge.Errorf(bridge.ToolError, "", bridge.Failed, "No."), "No."},
	} {
		if said := failure(c.err).Content[0].(mcpgo.TextContent).Text; said != c.says {
			t.Errorf("%s:\n%s, want\n%s", situation, said, c.says)
		}
	}
}

// TestForeignAdvice (D7): a model is told to decline where it can.
func TestForeignAdvice(t *testing.T) {
	x := &exchange{face: &Face{}}
	for foreign, says := range map[bool]string{
		false: `"look" waits for a person, and only the user can answer. T. The user can answer in pagetools, until 00:00:00 UTC; then it counts as declined. ` +
			"After that, call the tool again with the same arguments: the call goes on, and does not run twice. To decline instead, call pagetools_waiting.",
		true: `"look" waits for a person, and only the user can answer. T. Only an operator can answer, until 00:00:00 UTC; then it counts as declined. ` +
			"After that, call the tool again with the same arguments: the call goes on, and does not run twice.",
	} {
		q := bridge.Question{Kind: bridge.Confirm, Title: "T", Tool: "look", Foreign: foreign}
		if said := x.stillAsks("C", &q).Message; said != says {
			t.Errorf("%s, want\n%s", said, says)
		}
	}
}
