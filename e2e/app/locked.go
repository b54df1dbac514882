package app

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
)

// LockVersion is the version of lock files that are written. Version 1 had names of sites for
// keys, and digests alone.
const LockVersion = 2

// Lock is the content of a lock file.
type Lock struct {
	LockfileVersion int `json:"lockfileVersion"`
	// Targets are the locked pages by their address, or by their folder.
	Targets map[string]LockedTarget `json:"targets"`
}

// LockedTarget is a page with its tools, by name.
type LockedTarget struct {
	Tools map[string]LockedTool `json:"tools"`
	// Adapters are the operator's scripts that its pages ran.
	Adapters []bridge.Adapter `json:"adapters,omitempty"`
}

// LockedTool is the definition of a tool. The digest counts; the rest says what changed.
// A file of version 1 has nothing but digests.
type LockedTool struct {
	Digest       string          `json:"digest"`
	Origin       string          `json:"origin,omitempty"`
	Frame        string          `json:"frame,omitempty"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	// Adapter is the operator's script that adds it to the page; nil is none.
	Adapter *bridge.Adapter `json:"adapter,omitempty"`
}

// Text is the lock as its file has it.
func (l *Lock) Text() ([]byte, error) {
	text, err := schema.EncodeFile(l)
	if err != nil {
		return nil, fmt.Errorf("encoding a lock file: %w", err)
	}
	return text, nil
}

// Scripts returns the adapters that pages of a site run.
func (a *App) Scripts(site string) []*adapter.Adapter { return session.AdaptersOf(a.Manager).Of(site) }

// Adapters identifies the adapters that pages of a site run.
func (a *App) Adapters(site string) (all []bridge.Adapter) {
	for _, x := range a.Scripts(site) {
		all = append(all, x.Adapter)
	}
	return all
}

// LockedTools returns the tools of a page as a lock file has them. It looks at the page of the
// caller's session, or at the site's own. Tools of a folder have no origin, which has another
// port each time.
func (a *App) LockedTools(ctx context.Context, ref bridge.Ref, folder bool,
) (map[string]LockedTool, error) {
	digests, catalog, err := a.Bridge.ToolDigests(ctx, ref)
	if err != nil {
		return nil, err
	}
	all := map[string]LockedTool{}
	for _, x := range catalog.Tools() {
		tool := LockedTool{Digest: digests[x.Name()], Title: x.Title(),
			Description: x.Description(), Frame: x.Frame(), InputSchema: x.InputSchema(),
			OutputSchema: x.OutputSchema(), Annotations: x.Annotations(), Adapter: x.Adapter()}
		if !folder || tool.Frame != "" {
			tool.Origin = x.Origin()
		}
		all[x.Name()] = tool
	}
	return all, nil
}
