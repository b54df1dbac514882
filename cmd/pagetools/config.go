package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/clients"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

func configCommand(p *program) *cobra.Command {
	var o clientOptions
	names := strings.Join(clients.Names(), "|")
	c := &cobra.Command{
		Use: "config [print|schema|" + names + "] [TARGET...]",
		Short: "Print the effective configuration, the schema of its file, or " +
			"what an MCP client needs",
		Long: "Without a word, or with print: the effective configuration, with where " +
			"each value came from.\n" +
			"With schema: the JSON Schema of the configuration file; with schema x-llm, that of x-llm in documents of OpenAPI.\n" +
			"With the name of an MCP client: what its own configuration needs " +
			"so that it starts `pagetools mcp TARGET...`, or uses the server that --http names.",
		Args:      func(_ *cobra.Command, args []string) error { return o.check(args) },
		ValidArgs: append([]string{"print", "schema"}, clients.Names()...),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || args[0] == "print":
				return printConfig(p.stdout, p.conf)
			case args[0] == "schema" && len(args) > 1:
				_, err := p.stdout.Write(opentools.Schema)
				return err
			case args[0] == "schema":
				return printSchema(p.stdout)
			}
			return configClient(p, args[0], args[1:], o)
		},
	}
	c.Flags().StringVar(&o.http, "http", "", "for clients: use the MCP server that runs at this "+
		"URL, such as http://127.0.0.1:7300/mcp, and start none")
	c.Flags().StringVar(&o.via, "via", "", "for clients: npx has them start npm's package of this "+
		"version, and not this program")
	c.Flags().BoolVar(&o.install, "install", false,
		"for clients: write it into the client's own file for this user, with a backup")
	return c
}

type configValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// printConfig prints every setting with where it came from. Secrets are not
// printed.
func printConfig(w io.Writer, c *config.Config) error {
	var all []configValue
	for _, s := range c.Settings() {
		v := configValue{Name: s.Key, Value: strings.Join(s.Values, " "), From: s.From}
		if s.Is("secret") && v.Value != "" && !c.IsDefault(s.Key) {
			v.Value = "(set)"
		}
		if s.Key == "data-dir" && v.Value == "" {
			v.Value, _ = c.DataFolder() // without a home there is none
		}
		all = append(all, v)
	}
	for _, s := range c.Sites {
		all = append(all, configValue{"site", s.Name + " " + s.Target,
			fmt.Sprintf("%s:%d", c.File, s.Line)})
	}
	for _, b := range c.Browsers {
		all = append(all, configValue{"browser", b.Name, fmt.Sprintf("%s:%d", c.File, b.Line)})
	}
	for _, caller := range c.Callers {
		all = append(all, configValue{"caller", caller.Name,
			fmt.Sprintf("%s:%d", c.File, caller.Line)})
	}
	switch c.Format {
	case "json":
		return terminal.Encode(w, all)
	case "ndjson":
		for _, v := range all {
			if err := terminal.Encode(w, v); err != nil {
				return err
			}
		}
		return nil
	}
	for _, v := range all {
		if _, err := fmt.Fprintf(w, "%-22s %-28s %s\n", v.Name, text.Line(v.Value),
			v.From); err != nil {
			return err
		}
	}
	return nil
}

func printSchema(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(config.Schema())
}
