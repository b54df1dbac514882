package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/clients"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

func (p *program) configCommand() *cobra.Command {
	var o clientOptions
	names := strings.Join(clients.Names(), "|")
	c := &cobra.Command{
		Use:   "config [print|schema|" + names + "] [TARGET...]",
		Short: "Print the effective configuration, the schema of its file, or what an MCP client needs",
		Long: "Without a word, or with print: the effective configuration, with where each value came from.\n" +
			"With schema: the JSON Schema of the configuration file.\n" +
			"With the name of an MCP client: what its own configuration needs so that it starts `pagetools mcp TARGET...`.",
		Args:      func(_ *cobra.Command, args []string) error { return o.check(args) },
		ValidArgs: append([]string{"print", "schema"}, clients.Names()...),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || args[0] == "print":
				return p.printConfig()
			case args[0] == "schema":
				return p.printSchema()
			}
			return p.configClient(args[0], args[1:], o)
		},
	}
	c.Flags().StringVar(&o.http, "http", "", "for clients: use the MCP server that runs at this URL, such as http://127.0.0.1:7300/mcp, and start none")
	c.Flags().BoolVar(&o.install, "install", false, "for clients: write it into the client's own file for this user, with a backup")
	return c
}

// configValue is one effective setting.
type configValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// printConfig prints every setting with where it came from. Secrets are not
// printed.
func (p *program) printConfig() error {
	var all []configValue
	for _, s := range p.conf.Settings() {
		v := configValue{Name: s.Key, Value: strings.Join(s.Values, " "), From: s.From}
		if s.Secret && v.Value != "" {
			v.Value = "(set)"
		}
		all = append(all, v)
	}
	for _, s := range p.conf.Sites {
		all = append(all, configValue{"site", s.Name + " " + s.Target, fmt.Sprintf("%s:%d", p.conf.File, s.Line)})
	}
	for _, c := range p.conf.Callers {
		all = append(all, configValue{"caller", c.Name, fmt.Sprintf("%s:%d", p.conf.File, c.Line)})
	}
	switch p.conf.Format {
	case "json":
		return terminal.Encode(p.stdout, all)
	case "ndjson":
		for _, v := range all {
			if err := terminal.Encode(p.stdout, v); err != nil {
				return err
			}
		}
		return nil
	}
	for _, v := range all {
		if _, err := fmt.Fprintf(p.stdout, "%-22s %-28s %s\n", v.Name, terminal.Plain(v.Value), v.From); err != nil {
			return err
		}
	}
	return nil
}

// printSchema prints the JSON Schema of the configuration file.
func (p *program) printSchema() error {
	enc := json.NewEncoder(p.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(config.Schema())
}
