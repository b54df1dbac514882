package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/clients"
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
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 || args[0] == "print":
				return p.printConfig(cmd.Root().PersistentFlags())
			case args[0] == "schema":
				return p.printSchema(cmd.Root().PersistentFlags())
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
func (p *program) printConfig(f *pflag.FlagSet) error {
	var all []configValue
	f.VisitAll(func(flag *pflag.Flag) {
		v := configValue{Name: flag.Name, Value: flag.Value.String(), From: p.from[flag.Name]}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			v.Value = strings.Join(list.GetSlice(), " ")
		}
		if (flag.Name == "token" || flag.Name == "ws-header") && v.Value != "" {
			v.Value = "(set)"
		}
		if v.From == fromFile {
			v.From = fmt.Sprintf("%s:%d", p.file.path, p.file.flags[flag.Name].line)
		}
		all = append(all, v)
	})
	for _, s := range p.file.sites {
		all = append(all, configValue{Name: "site", Value: s.name + " " + s.target, From: fmt.Sprintf("%s:%d", p.file.path, s.line)})
	}
	for _, c := range p.file.callers {
		all = append(all, configValue{Name: "caller", Value: c.name, From: fmt.Sprintf("%s:%d", p.file.path, c.line)})
	}
	switch p.set.format {
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
func (p *program) printSchema(f *pflag.FlagSet) error {
	enc := json.NewEncoder(p.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(fileSchema(f))
}

type object = map[string]any

// fileSchema describes the configuration file: every flag is a key, and there
// are sites, callers and limits.
func fileSchema(f *pflag.FlagSet) object {
	text := object{"type": "string"}
	texts := object{"type": "array", "items": text}
	count := object{"type": "integer", "minimum": 1}
	duration := object{"type": "string", "examples": []string{"60s", "15m"}}
	properties := object{}
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "config" {
			return
		}
		s := object{"description": flag.Usage}
		switch flag.Value.Type() {
		case "bool":
			s["type"] = "boolean"
		case "int":
			s["type"] = "integer"
		case "stringArray":
			s["type"], s["items"] = "array", text
		default:
			s["type"] = "string"
		}
		properties[flag.Name] = s
	})
	level := object{"enum": []string{"auto", "ask-once", "ask", "never"}}
	mode := object{"enum": approvalModes}
	rate := object{"type": "string", "pattern": "^[0-9]+/.+$", "examples": []string{"60/1m"}}
	site := closed(object{
		"name": object{"type": "string", "pattern": siteName.String()}, "target": text,
		"state": object{"enum": []string{"isolated", "shared"}}, "engine": object{"enum": engineKinds}, "warm": object{"type": "integer", "minimum": 0},
		"approval": object{"anyOf": []any{mode, closed(object{"default": mode, "tools": object{"type": "object", "additionalProperties": level}})}},
		"rate":     rate, "rates": object{"type": "object", "additionalProperties": rate},
		"allow-config": texts, "allow-private": texts, "allow-origin": texts,
		"config-params": object{"type": "object", "additionalProperties": object{"type": []string{"object", "boolean"}}},
		"profiles": object{"type": "array", "items": closed(object{"name": object{"type": "string", "pattern": profileName.String()},
			"storage-state": text, "callers": texts}, "name", "storage-state")},
		"default-profile": text,
		"windows":         object{"enum": slices.Sorted(maps.Keys(windowPolicies))},
		"wait-for":        closed(object{"tool": text, "selector": text, "idle": object{"anyOf": []any{object{"type": "boolean"}, duration}}}),
	}, "target")
	caller := closed(object{
		"name": text, "token": object{"type": "string", "minLength": 1}, "sites": texts,
		"may":  object{"type": "array", "items": object{"enum": []string{"call", "elicit", "answer"}}},
		"rate": rate,
	}, "name", "token")
	limits := object{"call-timeout": duration, "max-sessions": object{"type": "integer", "minimum": 0}, "first-idle": duration, "idle": duration, "max-age": duration, "question": duration}
	for _, k := range []string{"queue", "recycle-after", "tools", "name", "description", "schema-bytes", "schema-depth", "schema-subschemas",
		"schema-expansions", "schema-pattern", "arguments", "result"} {
		limits[k] = count
	}
	properties["sites"] = object{"type": "array", "items": site}
	properties["callers"] = object{"type": "array", "items": caller}
	properties["limits"] = closed(limits)
	s := closed(properties)
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", "pagetools.yaml"
	return s
}

func closed(properties object, required ...string) object {
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}
