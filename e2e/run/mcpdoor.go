package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	mcptransport "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/transport"
)

// mcpDoor speaks MCP over Streamable HTTP, and shows questions to the person.
type mcpDoor struct {
	client *client.Client
	person *person

	listing sync.Mutex
	listed  map[string]string // names of MCP by those of pages
}

func (on *Stand) mcp(ctx context.Context, c transport.Credential, p *person) (*mcpDoor, error) {
	// The library cancels the post of an answer when its call ends. With the reply just read,
	// net/http passes that on to the next request of the connection.
	single := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	over, err := mcptransport.NewStreamableHTTP(on.base+"/mcp/"+on.site+"?session="+stateName,
		mcptransport.WithHTTPLogger(slog.New(slog.DiscardHandler)),
		mcptransport.WithHTTPBasicClient(single),
		mcptransport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + c.Token}))
	if err != nil {
		return nil, fmt.Errorf("connecting by MCP: %w", err)
	}
	d := &mcpDoor{person: p}
	d.client = client.NewClient(over, client.WithElicitationHandler(d),
		client.WithProtocolVersion(mcp.LATEST_PROTOCOL_VERSION),
		client.WithMaxInputRoundTrips(mostAsked))
	if err := d.client.Start(ctx); err != nil {
		return nil, fmt.Errorf("connecting by MCP: %w", err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "pagetools-test", Version: "1"}
	hello.Params.Capabilities.Experimental = map[string]any{"pagetools/kit": map[string]any{}}
	if _, err := d.client.Initialize(ctx, hello); err != nil {
		d.close()
		return nil, fmt.Errorf("connecting by MCP: %w", err)
	}
	return d, nil
}

func (d *mcpDoor) close() { _ = d.client.Close() }

// names lists the tools by the names that the page gave them.
func (d *mcpDoor) names(ctx context.Context) ([]string, error) {
	all, err := d.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, fmt.Errorf("listing the tools by MCP: %w", err)
	}
	listed := map[string]string{}
	var names []string
	for i := range all.Tools {
		name := all.Tools[i].Name
		if meta := all.Tools[i].Meta; meta != nil {
			tool, _ := meta.AdditionalFields["pagetools/tool"].(map[string]any)
			own, isPages := tool["name"].(string)
			if !isPages {
				continue // one of pagetools
			}
			name = own
		}
		listed[name] = all.Tools[i].Name
		names = append(names, name)
	}
	d.listing.Lock()
	defer d.listing.Unlock()
	d.listed = listed
	return names, nil
}

// known is the name that MCP has for a tool, as it was listed last; "" is none.
func (d *mcpDoor) known(tool string) string {
	d.listing.Lock()
	defer d.listing.Unlock()
	return d.listed[tool]
}

func (d *mcpDoor) call(ctx context.Context, tool string, with json.RawMessage) (result, error) {
	name := d.known(tool)
	if name == "" {
		if _, err := d.names(ctx); err != nil {
			return result{}, err
		}
		name = cmp.Or(d.known(tool), tool) // else the server says that there is none
	}
	for range mostAsked {
		got, err := d.client.CallTool(ctx, mcp.CallToolRequest{
			Params: mcp.CallToolParams{Name: name, Arguments: with}})
		if err != nil {
			return result{}, fmt.Errorf("calling by MCP: %w", err)
		}
		r, err := resultOf(got)
		if err != nil {
			return r, err
		}
		if stops := code(r.err); r.err == nil || stops != bridge.InputRequired &&
			stops != bridge.ApprovalRequired {
			return r, nil
		}
		if err := d.elsewhere(ctx, questionIn(got.Meta)); err != nil {
			return r, err
		}
	}
	return result{}, fmt.Errorf("the call asked more than %d times", mostAsked)
}

func resultOf(got *mcp.CallToolResult) (result, error) {
	if got.IsError && got.Meta != nil {
		if e, ok := got.Meta.AdditionalFields["pagetools/error"]; ok {
			text, err := schema.Encode(e)
			return result{err: text}, err
		}
	}
	structured := got.RawStructuredContent
	var content []json.RawMessage
	for _, block := range got.Content {
		text, err := schema.Encode(block)
		if err != nil {
			return result{}, fmt.Errorf("reading a result of MCP: %w", err)
		}
		content = append(content, text)
	}
	if got.IsError && len(content) > 0 { // what does not fit its outputSchema follows a warning
		content = content[1:]
	}
	return result{forms: formsOfMCP(content, structured)}, nil
}

// questionIn returns the id of the question that a message is about, which the server tells the
// kit, or "".
func questionIn(meta *mcp.Meta) string {
	if meta == nil {
		return ""
	}
	id, _ := meta.AdditionalFields["pagetools/question"].(string)
	return id
}

// elsewhere lets the person answer a question that the client cannot show, and waits until that is
// done. The call goes on where there is none.
func (d *mcpDoor) elsewhere(ctx context.Context, id string) error {
	q := d.person.question(id)
	if q == nil {
		return nil
	}
	a, left := d.person.respond(ctx, q)
	switch {
	case !left:
	case silent(&a):
		d.person.outlast(ctx, q, a)
	default:
		d.person.operate(q, a)
	}
	return d.person.over(ctx, q.ID)
}

// Elicit implements client.ElicitationHandler: the person answers in the client, unless the case
// says that they do elsewhere. A question that is over is closed.
func (d *mcpDoor) Elicit(ctx context.Context, r mcp.ElicitationRequest,
) (*mcp.ElicitationResult, error) {
	out := &mcp.ElicitationResult{}
	out.Action = mcp.ElicitationResponseActionCancel
	q := d.person.question(questionIn(r.Params.Meta))
	if q == nil {
		return out, nil
	}
	a, left := d.person.respond(ctx, q)
	switch {
	case !left:
		return out, nil
	case silent(&a):
		d.person.outlast(ctx, q, a)
		return out, nil
	case a.From != "" && a.From != fromElicitation, a.Act == scenario.Twice,
		a.Value.Exists() && q.Kind != bridge.Prompt:
		d.person.operate(q, a)
		return out, nil
	case a.Act == scenario.Decline:
		out.Action = mcp.ElicitationResponseActionDecline
		return out, nil
	}
	out.Action = mcp.ElicitationResponseActionAccept
	content := map[string]any{}
	if value := answerTo(q, &a).Value; q.Kind == bridge.Prompt {
		if len(value) == 0 {
			value = scenario.ReadAgain(q.Schema).Get("default").Text()
		}
		content["value"] = scenario.ReadAgain(value).String()
	}
	out.Content = content
	return out, nil
}
