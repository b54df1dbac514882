package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport/mcp"
)

// mcpDrainTime is how long calls in flight may still take after stdin closed.
const mcpDrainTime = time.Second

func mcpCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp [NAME=]TARGET...",
		Short: "Serve the tools of web applications over MCP, on stdin and stdout",
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := p.targets(args)
			if err != nil {
				return err
			}
			if len(targets) == 0 {
				return usage("mcp needs a TARGET, or sites in the configuration file")
			}
			return serveMCP(cmd.Context(), p, plan{targets: targets, one: true, remember: true})
		},
	}
}

// serveMCP serves the one client at stdin, until stdin closes.
func serveMCP(ctx context.Context, p *program, pl plan) error {
	page, err := listenConsole(ctx, p.conf)
	if err != nil {
		return err
	}
	defer page.close()
	a, err := p.start(ctx, pl)
	if err != nil {
		return err
	}
	defer p.end(a)
	operators := serveOperators(ctx, a, newCallers(p), page)
	defer operators.close()
	face, err := p.mcpFace(a, operators.page, nil)
	if err != nil {
		return err
	}
	if page := operators.page(); page != "" && operators.inbox.own != "" {
		p.say("note: questions are answered at %s, which `pagetools console` opens, "+
			"and with `pagetools approve`", page)
	}
	go func() { // ends with the start, or with the engine
		if _, err := a.Engine.Start(ctx); err != nil && ctx.Err() == nil {
			p.say("%s", terminal.Plain(err.Error()))
		}
	}()
	site := ""
	if len(pl.targets) == 1 {
		site = pl.targets[0].Name
	}
	err = face.ServeStdio(ctx, p.stdin, p.stdout, bridge.Local(), site)
	bounded, cancel := context.WithTimeout(context.Background(), mcpDrainTime)
	defer cancel()
	a.Drain(bounded)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("speaking MCP: %w", err)
	}
	return context.Cause(ctx)
}

// mcpFace makes the face of MCP. done ends its streams; nil means never.
func (p *program) mcpFace(a *app.App, operators func() string,
	done <-chan struct{}) (*mcp.Face, error) {
	key, err := mcpKey(p.conf)
	if err != nil {
		p.say("warning: questions that MCP clients carry do not outlive this process: %v", err)
	}
	return mcp.New(a.Bridge, mcp.Options{Version: ownVersion(), Tools: p.conf.MCPTools,
		Schemas: p.conf.MCPSchemas, Operators: operators, Key: key, Done: done, Log: p.log,
		Page: func(site string) (title, icon string) {
			_, title, icon = a.Manager.Page(site)
			return title, icon
		}})
}

// mcpKeyName is the file of the key that seals what MCP clients carry for us.
const mcpKeyName = "mcp.key"

// mcpKey reads the key of the data directory, or makes it. It is nil where nothing
// is kept.
func mcpKey(c *config.Config) ([]byte, error) {
	key, err := kept(c, mcpKeyName, func() []byte {
		key := make([]byte, mcp.KeySize)
		_, _ = rand.Read(key) // it never fails: it ends the program instead
		return key
	})
	if err == nil && key != nil && len(key) != mcp.KeySize {
		return nil, fmt.Errorf("%s is not a key of %d bytes; remove it", mcpKeyName, mcp.KeySize)
	}
	return key, err
}
