package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// mcpClient is what we know of a client's own configuration.
type mcpClient struct {
	name, title string
	// page is the documentation that the file's place and form follow.
	page string
	// file is the configuration of this user.
	file func(place) string
	// key is where the servers are; in TOML it begins their tables.
	key  string
	toml bool
	// lenient is true when the client reads comments and trailing commas in JSON.
	lenient bool
	// entry is how the file describes a server.
	entry func(mcpServer) entry
	// command is the client's own way of adding it, in words; nil when there is none.
	command func(mcpServer) []string
	// expands finds what the client takes for a variable.
	expands *regexp.Regexp
	// localOnly says why there is no URL in the file.
	localOnly string
	// reserved are names that the client keeps for itself.
	reserved []string
	// noUnderscores is true when the client's rules misread names with underscores.
	noUnderscores bool
}

// tokenVariable is what carries the token of a server that asks for one.
var tokenVariable = envName("token")

// braced are variables as most clients write them.
var braced = regexp.MustCompile(`\$\{`)

// mcpClients are the clients, as their documentation of November 2026 has them.
var mcpClients = []*mcpClient{
	{
		name: "claude-code", title: "Claude Code", page: "https://code.claude.com/docs/en/mcp", key: "mcpServers", expands: braced,
		reserved: []string{"workspace"},
		file:     func(l place) string { return filepath.Join(l.or("CLAUDE_CONFIG_DIR"), ".claude.json") },
		entry:    func(s mcpServer) entry { return s.entry("stdio", "http", "url", "Bearer ${"+tokenVariable+"}") },
		command: func(s mcpServer) []string {
			if s.url != "" {
				return slices.Concat([]string{"claude", "mcp", "add"}, s.headerOption("--header", "Bearer ${"+tokenVariable+"}"), []string{"--scope", "user", "--transport", "http", s.name, s.url})
			}
			// Another option must stand between --env and the name: --env takes all words that follow.
			return slices.Concat([]string{"claude", "mcp", "add"}, s.envOptions("--env"), []string{"--scope", "user", "--transport", "stdio", s.name, "--", s.command}, s.args)
		},
	},
	{
		name: "claude-desktop", title: "Claude Desktop", page: "https://modelcontextprotocol.io/docs/develop/connect-local-servers", key: "mcpServers",
		file:      func(l place) string { return filepath.Join(l.appData(), "Claude", "claude_desktop_config.json") },
		entry:     func(s mcpServer) entry { return s.entry("", "", "", "") },
		localOnly: "Claude Desktop's file takes only servers that it starts itself: leave --http out and name a TARGET. A server with a public https address is added under Settings, Connectors.",
	},
	{
		name: "cursor", title: "Cursor", page: "https://cursor.com/docs/mcp", key: "mcpServers", lenient: true, expands: braced,
		file:  func(l place) string { return filepath.Join(l.home, ".cursor", "mcp.json") },
		entry: func(s mcpServer) entry { return s.entry("stdio", "", "url", "Bearer ${env:"+tokenVariable+"}") },
	},
	{
		name: "vscode", title: "VS Code", page: "https://code.visualstudio.com/docs/agents/reference/mcp-configuration", key: "servers", lenient: true, expands: braced,
		file:  vscodeFile,
		entry: func(s mcpServer) entry { return s.entry("stdio", "http", "url", "Bearer ${env:"+tokenVariable+"}") },
		command: func(s mcpServer) []string {
			named := append(entry{{"name", s.name}}, s.entry("stdio", "http", "url", "Bearer ${env:"+tokenVariable+"}")...)
			return []string{"code", "--add-mcp", named.text(layout{})}
		},
	},
	{
		name: "codex", title: "Codex", page: "https://developers.openai.com/codex/mcp", key: "mcp_servers", toml: true,
		file:  func(l place) string { return filepath.Join(l.or("CODEX_HOME", ".codex"), "config.toml") },
		entry: codexEntry,
		command: func(s mcpServer) []string {
			if s.url == "" {
				return slices.Concat([]string{"codex", "mcp", "add", s.name}, s.envOptions("--env"), []string{"--", s.command}, s.args)
			}
			out := []string{"codex", "mcp", "add", s.name, "--url", s.url}
			if s.token {
				out = append(out, "--bearer-token-env-var", tokenVariable)
			}
			return out
		},
	},
	{
		name: "gemini", title: "Gemini CLI", page: "https://geminicli.com/docs/tools/mcp-server", key: "mcpServers", lenient: true, expands: regexp.MustCompile(`\$[\w{]`),
		// Without a type, url is the older SSE; httpUrl is said to be deprecated (0.61).
		noUnderscores: true, // google-gemini/gemini-cli#21727
		file:          func(l place) string { return filepath.Join(l.or("GEMINI_CLI_HOME"), ".gemini", "settings.json") },
		entry:         func(s mcpServer) entry { return s.entry("", "http", "url", "Bearer ${"+tokenVariable+"}") },
		command: func(s mcpServer) []string {
			if s.url != "" {
				return slices.Concat([]string{"gemini", "mcp", "add", "--scope", "user", "--transport", "http"}, s.headerOption("--header", "Bearer ${"+tokenVariable+"}"), []string{s.name, s.url})
			}
			if slices.ContainsFunc(s.env, func(e [2]string) bool { return strings.Contains(e[1], "=") }) {
				return nil // it would keep only what is before the second =
			}
			return slices.Concat([]string{"gemini", "mcp", "add", "--scope", "user"}, s.envOptions("--env"), []string{s.name, s.command, "--"}, s.args)
		},
	},
}

// vscodeFile is mcp.json of the default profile. VS Code looks at the variables
// in this order (src/vs/platform/environment/node/userDataPath.js of its source).
func vscodeFile(l place) string {
	dir := filepath.Join(l.appData(), "Code")
	if v := l.env("VSCODE_APPDATA"); v != "" {
		dir = filepath.Join(v, "Code")
	}
	if v := l.env("VSCODE_PORTABLE"); v != "" {
		dir = filepath.Join(v, "user-data")
	}
	return filepath.Join(dir, "User", "mcp.json")
}

func clientNames() []string {
	names := make([]string, len(mcpClients))
	for i, c := range mcpClients {
		names[i] = c.name
	}
	return names
}

func clientNamed(name string) *mcpClient {
	for _, c := range mcpClients {
		if c.name == name {
			return c
		}
	}
	return nil
}

// entry is what a file says of one server, in its order. A value is a string, a
// list of strings, or pairs of strings.
type entry []field

type field struct {
	key   string
	value any
}

// entry describes a server in JSON. The types are left out when empty.
func (s mcpServer) entry(localType, remoteType, urlKey, bearer string) (e entry) {
	add := func(key string, value any) { e = append(e, field{key, value}) }
	if s.url != "" {
		if remoteType != "" {
			add("type", remoteType)
		}
		add(urlKey, s.url)
		if s.token {
			add("headers", [][2]string{{"Authorization", bearer}})
		}
		return e
	}
	if localType != "" {
		add("type", localType)
	}
	add("command", s.command)
	add("args", s.args)
	if len(s.env) > 0 {
		add("env", s.env)
	}
	return e
}

func codexEntry(s mcpServer) entry {
	if s.url == "" {
		return s.entry("", "", "", "")
	}
	e := entry{{"url", s.url}}
	if s.token {
		e = append(e, field{"bearer_token_env_var", tokenVariable})
	}
	return e
}

// entryKeys are all keys that say what a server is, today's and older ones. What else is in an entry
// is the user's.
var entryKeys = []string{"type", "command", "args", "env", "url", "httpUrl", "headers", "bearer_token_env_var", "http_headers", "env_http_headers"}

// layout is how JSON is written: on one line, or on several.
type layout struct {
	newline string // "" for one line
	indent  string // of the line that it begins on
	unit    string
}

func (l layout) deeper() layout { return layout{l.newline, l.indent + l.unit, l.unit} }

// object writes members, each with its key.
func (l layout) object(members []string) string {
	if l.newline == "" || len(members) == 0 {
		return "{" + strings.Join(members, ",") + "}"
	}
	between := l.newline + l.indent + l.unit
	return "{" + between + strings.Join(members, ","+between) + l.newline + l.indent + "}"
}

// member writes one, on lines of its own or not.
func (l layout) member(key, value string) string {
	if l.newline == "" {
		return quoteJSON(key) + ":" + value
	}
	return quoteJSON(key) + ": " + value
}

// text writes an entry, and after it what else its members are.
func (e entry) text(l layout, more ...string) string {
	members := make([]string, 0, len(e)+len(more))
	for _, f := range e {
		members = append(members, l.member(f.key, f.json(l.deeper())))
	}
	return l.object(append(members, more...))
}

func (f field) json(l layout) string {
	switch v := f.value.(type) {
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = quoteJSON(s)
		}
		if l.newline == "" {
			return "[" + strings.Join(items, ",") + "]"
		}
		return "[" + strings.Join(items, ", ") + "]"
	case [][2]string:
		members := make([]string, len(v))
		for i, pair := range v {
			members[i] = l.member(pair[0], quoteJSON(pair[1]))
		}
		return l.object(members)
	}
	s, _ := f.value.(string)
	return quoteJSON(s)
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string can always be encoded
		panic(err)
	}
	return terminal.Escape(strings.TrimSuffix(b.String(), "\n"))
}

// snippet is the whole of a file that has only this server.
func (c *mcpClient) snippet(s mcpServer) string {
	if c.toml {
		return tomlTable([]string{c.key, s.name}, c.entry(s), "\n")
	}
	top := layout{newline: "\n", unit: "  "}
	in := top.deeper()
	servers := in.object([]string{in.member(s.name, c.entry(s).text(in.deeper()))})
	return top.object([]string{top.member(c.key, servers)}) + "\n"
}

// ownCommand is what a person can type instead; "" when there is nothing.
func (c *mcpClient) ownCommand(s mcpServer) string {
	if c.command == nil {
		return ""
	}
	words := c.command(s)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	if line := strings.Join(words, " "); line == terminal.Plain(line) {
		return line
	}
	return "" // who pastes must see what it is
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// shellWord quotes a word for a POSIX shell.
func shellWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func (s mcpServer) envOptions(option string) (out []string) {
	for _, e := range s.env {
		out = append(out, option, e[0]+"="+e[1])
	}
	return out
}

func (s mcpServer) headerOption(option, bearer string) []string {
	if !s.token {
		return nil
	}
	return []string{option, "Authorization: " + bearer}
}
