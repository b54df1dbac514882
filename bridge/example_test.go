package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pagetools/pagetools/bridge"
)

// greeter is a site with one tool: a Router, and the Source of each call.
type greeter struct{ catalog *bridge.Catalog }

func (g greeter) Sites() []bridge.Site { return []bridge.Site{{Name: "hello"}} }

func (g greeter) Catalog(bridge.Ref) (*bridge.Catalog, error) { return g.catalog, nil }

func (g greeter) Await(context.Context, bridge.Ref) (*bridge.Catalog, error) { return g.catalog, nil }

func (g greeter) Shows(bridge.Ref) *bridge.Shown                             { return nil }
func (g greeter) Acquire(context.Context, bridge.Ref) (bridge.Source, error) { return g, nil }

func (g greeter) Invoke(_ context.Context, inv bridge.Invocation) bridge.Step {
	var in struct{ Name string }
	if err := json.Unmarshal(inv.Input, &in); err != nil {
		return bridge.Errorf(bridge.ToolError, "", bridge.Failed, "The name cannot be read.").Step()
	}
	return bridge.Step{Data: json.RawMessage(fmt.Sprintf(`"Hello, %s!"`, in.Name))}
}

func (g greeter) Release() {}

// The smallest complete site: a tool is declared, admitted, listed and called.
func ExampleBridge() {
	catalog, findings := bridge.NewCatalog(nil, []bridge.Declaration{{
		ID: 1, Name: "greet", Description: "Greets somebody.", Own: true,
		Input:       json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		Annotations: json.RawMessage(`{"readOnlyHint":true}`),
	}}, bridge.Limits{})
	b, err := bridge.New(greeter{catalog}, bridge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	in, err := bridge.ReadValue("arguments", json.RawMessage(`{"name":"Ada"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := b.Do(context.Background(), &bridge.Call{Site: "hello", Tool: "greet", Caller: bridge.Local(), Input: in})
	fmt.Println(len(findings), string(data), err)
	// Output: 0 "Hello, Ada!" <nil>
}

// A call that needs consent stops at a question, and goes on when a person answers.
func ExampleBridge_Watch() {
	catalog, _ := bridge.NewCatalog(nil, []bridge.Declaration{{ID: 1, Name: "greet", Description: "Greets somebody."}}, bridge.Limits{})
	b, err := bridge.New(greeter{catalog}, bridge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	in, _ := bridge.ReadValue("arguments", json.RawMessage(`{"name":"Ada"}`))
	run := b.Start(context.Background(), &bridge.Call{Site: "hello", Tool: "greet", Caller: bridge.Local(), Input: in})

	person := bridge.Caller{Name: "Grace", May: []bridge.Right{bridge.MayAnswer}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var inbox bridge.Inbox
	inbox.Take(<-b.Watch(ctx, bridge.Interest{Caller: person, Runs: true}))
	for _, q := range inbox.Questions() {
		fmt.Println(q.Title, string(q.Input))
		if err := b.Answer(person, q.ID, bridge.Answer{OK: true}); err != nil {
			fmt.Println(err)
		}
	}
	_, end := run.Await(ctx, 0)
	fmt.Println(string(end.Data))
	// Output:
	// Run greet on hello? {"name":"Ada"}
	// "Hello, Ada!"
}
