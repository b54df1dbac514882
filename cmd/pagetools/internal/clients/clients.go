// Package clients knows how each MCP client is configured: where its file is, what
// an entry looks like, and which command of its own adds one.
package clients

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/text"
)

// TokenVariable carries the token of a server that asks for one.
const TokenVariable = "PAGETOOLS_TOKEN"

// Client holds what we know of a client's own configuration.
type Client struct {
	Name, Title string
	// alias is another name that the client is called by; empty for none.
	alias string
	// page is the documentation that the file's place and form follow.
	page string
	// files are templates of the path for this user. The first counts whose
	// variable is set: ~ is the home folder, @ where desktop programs keep things.
	files []string
	// key says where the servers are; in TOML it begins their tables.
	key string
	// toml is true when the file is TOML, which the client's own command edits.
	toml bool
	// lenient is true when the client reads comments and trailing commas in JSON.
	lenient bool
	// local and remote are the types of entries; empty for none.
	local, remote string
	// bearer says how a header reads the token; empty when TOML has a key for it.
	bearer string
	// add and addURL are templates of the client's own command; empty for none.
	add, addURL string
	// noEquals is true when that command cuts a variable's value at "=".
	noEquals bool
	// expands finds what the client takes for a variable.
	expands *regexp.Regexp
	// LocalOnly says why there is no URL in the file.
	LocalOnly string
	// Remote is not nil when the client runs in a cloud: it starts nothing, and has no file.
	Remote *Remote
	// cmdNPX is true when its documentation wants npx to be started by cmd on Windows.
	cmdNPX bool
	// reserved are names that the client keeps for itself.
	reserved []string
	// noUnderscores is true when the client's rules misread names with underscores.
	noUnderscores bool
}

// braced are variables as most clients write them.
var braced = regexp.MustCompile(`\$\{`)

// All are the clients, as their documentation of November 2026 has them.
var All = []*Client{
	{
		Name: "claude-code", Title: "Claude Code", page: "https://code.claude.com/docs/en/mcp",
		files: []string{"$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"},
		key:   "mcpServers", local: "stdio", remote: "http",
		bearer: "Bearer ${" + TokenVariable + "}", expands: braced, reserved: []string{"workspace"},
		cmdNPX: true,
		// Another option must stand between --env and the name: --env takes all words that follow.
		add:    "claude mcp add {--env} --scope user --transport stdio {name} -- {command}",
		addURL: "claude mcp add {--header} --scope user --transport http {name} {url}",
	},
	{
		Name: "claude-desktop", Title: "Claude Desktop",
		page:  "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
		files: []string{"@/Claude/claude_desktop_config.json"},
		key:   "mcpServers",
		LocalOnly: "Claude Desktop's file takes only servers that it starts itself: leave --http " +
			"out and name a TARGET. " +
			"A server with a public https address is added under Settings, Connectors.",
	},
	{
		Name: "cursor", Title: "Cursor", page: "https://cursor.com/docs/mcp",
		files: []string{"~/.cursor/mcp.json"},
		key:   "mcpServers", lenient: true, local: "stdio",
		bearer: "Bearer ${env:" + TokenVariable + "}", expands: braced,
	},
	{
		Name: "vscode", Title: "VS Code",
		page: "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
		// The default profile. VS Code looks at the variables in this order
		// (src/vs/platform/environment/node/userDataPath.js of its source).
		files: []string{
			"$VSCODE_PORTABLE/user-data/User/mcp.json", "$VSCODE_APPDATA/Code/User/mcp.json",
			"@/Code/User/mcp.json",
		},
		key: "servers", lenient: true, local: "stdio", remote: "http",
		bearer: "Bearer ${env:" + TokenVariable + "}", expands: braced,
		add: "code --add-mcp {json}", addURL: "code --add-mcp {json}",
	},
	{
		Name: "codex", Title: "Codex", page: "https://developers.openai.com/codex/mcp",
		files: []string{"$CODEX_HOME/config.toml", "~/.codex/config.toml"},
		key:   "mcp_servers", toml: true,
		add:    "codex mcp add {name} {--env} -- {command}",
		addURL: "codex mcp add {name} --url {url} {--bearer-token-env-var}",
	},
	{
		Name: "gemini-cli", alias: "gemini", Title: "Gemini CLI",
		page:  "https://geminicli.com/docs/tools/mcp-server",
		files: []string{"$GEMINI_CLI_HOME/.gemini/settings.json", "~/.gemini/settings.json"},
		// Without a type, url is the older SSE; httpUrl is said to be deprecated (0.61).
		key: "mcpServers", lenient: true, remote: "http", bearer: "Bearer ${" + TokenVariable + "}",
		expands: regexp.MustCompile(`\$[\w{]`), noEquals: true,
		noUnderscores: true, // google-gemini/gemini-cli#21727
		add:           "gemini mcp add --scope user {--env} {name} {program} -- {args}",
		addURL:        "gemini mcp add --scope user --transport http {--header} {name} {url}",
	}, {
		Name: "claude-web", Title: "Claude", page: "https://support.claude.com/en/articles/11175166",
		Remote: &Remote{where: "under Settings, Connectors, Add custom connector", login: true},
	},
	{
		Name: "chatgpt", Title: "ChatGPT", page: "https://developers.openai.com/apps-sdk/deploy/connect-chatgpt",
		Remote: &Remote{where: "under Settings, Connectors, Create, in developer mode", login: true},
	},
	{
		Name: "openai-api", Title: "OpenAI's API",
		page:   "https://developers.openai.com/api/docs/guides/tools-remote-mcp",
		Remote: &Remote{where: "in the request to /v1/responses", request: openAIRequest},
	},
	{
		Name: "anthropic-api", Title: "Anthropic's API",
		page: "https://docs.claude.com/en/docs/agents-and-tools/mcp-connector",
		Remote: &Remote{where: "in the request to /v1/messages, with the header anthropic-beta: mcp-client-2025-11-20",
			request: anthropicRequest},
	},
	{
		Name: "gemini-api", Title: "Gemini's API", page: "https://ai.google.dev/gemini-api/docs/interactions",
		Remote: &Remote{where: "in the request to /v1beta/interactions", request: geminiRequest},
	},
}

// Names returns the names of all clients.
func Names() []string {
	names := make([]string, len(All))
	for i, c := range All {
		names[i] = c.Name
	}
	return names
}

// Named returns the client with a name, or nil.
func Named(name string) *Client {
	for _, c := range All {
		if name == c.Name || name != "" && name == c.alias {
			return c
		}
	}
	return nil
}

// Server is an MCP server as a client's file names it: a program that the client
// starts, or a URL.
type Server struct {
	Name    string // a site's, or pagetools
	Command string // an absolute path; empty: there is a URL
	Args    []string
	Env     map[string]string
	URL     string
	Token   bool // the server at the URL asks for one
	// Issuers says where people log in for the server at the URL.
	Issuers []string
	// SignIn is true when people log in at the server at the URL itself.
	SignIn bool
	// NPX is the version of npm's package that npx starts, instead of Command; empty for none.
	NPX string
}

// Fit changes the name of the server to one that the client takes. It refuses values that the
// client would not read as they are written.
func (c *Client) Fit(s *Server) error {
	switch {
	case s.URL != "" && c.LocalOnly != "":
		return errors.New(c.LocalOnly)
	case c.Remote != nil:
		return c.Remote.fits(c.Title, *s)
	}
	if s.NPX != "" {
		if err := c.byNPX(s, runtime.GOOS); err != nil {
			return err
		}
	}
	if slices.Contains(c.reserved, s.Name) {
		s.Name = "pagetools_" + s.Name
	}
	if c.noUnderscores {
		s.Name = strings.ReplaceAll(s.Name, "_", "-")
	}
	all := slices.Concat([]string{s.Command, s.URL}, s.Args, slices.Collect(maps.Values(s.Env)))
	for _, v := range all {
		switch {
		case !utf8.ValidString(v):
			return fmt.Errorf("%q is not UTF-8, and the file of %s is", v, c.Title)
		case c.expands != nil && c.expands.MatchString(v):
			return fmt.Errorf("%s would put a variable's value into %s; name it in a "+
				"configuration file, and that with --config", c.Title, text.Line(v))
		}
	}
	return nil
}

// words returns the client's own command that adds the server.
func (c *Client) words(s Server) (words []string) {
	template := c.add
	if s.URL != "" {
		template = c.addURL
	}
	for _, w := range strings.Fields(template) {
		words = append(words, c.expand(w, s)...)
	}
	return words
}

// Command returns what a person can type instead, or "" when there is nothing.
func (c *Client) Command(s Server) string {
	words := c.words(s)
	for _, v := range s.Env {
		if c.noEquals && strings.Contains(v, "=") {
			return ""
		}
	}
	for i, w := range words {
		words[i] = text.ShellWord(w)
	}
	if line := strings.Join(words, " "); text.IsPlain(line) {
		return line
	}
	return "" // a person who pastes it must see what it is
}

// expand returns the words that a word of a template stands for.
func (c *Client) expand(word string, s Server) (out []string) {
	switch word {
	case "{name}":
		return []string{s.Name}
	case "{url}":
		return []string{s.URL}
	case "{program}":
		return []string{s.Command}
	case "{args}":
		return s.Args
	case "{command}":
		return slices.Concat([]string{s.Command}, s.Args)
	case "{json}":
		e := c.entry(s)
		e.Name = s.Name
		return []string{e.json()}
	case "{--env}":
		for _, k := range slices.Sorted(maps.Keys(s.Env)) {
			out = append(out, "--env", k+"="+s.Env[k])
		}
	case "{--header}":
		if s.Token {
			out = []string{"--header", "Authorization: " + c.bearer}
		}
	case "{--bearer-token-env-var}":
		if s.Token {
			out = []string{"--bearer-token-env-var", TokenVariable}
		}
	default:
		out = []string{word}
	}
	return out
}

// place says where a client looks for its file.
type place struct {
	os, home string
	env      func(string) string
}

// File returns the path of the client's file for this user.
func (c *Client) File() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the home folder: %w", err)
	}
	return c.file(place{os: runtime.GOOS, home: home, env: os.Getenv}), nil
}

func (c *Client) file(l place) string {
	for _, template := range c.files {
		first, rest, _ := strings.Cut(template, "/")
		dir := l.home
		if variable, ok := strings.CutPrefix(first, "$"); ok {
			dir = l.env(variable)
		} else if first == "@" {
			dir = l.appData()
		}
		if dir != "" {
			return filepath.Join(dir, filepath.FromSlash(rest))
		}
	}
	return ""
}

// appData returns where desktop programs keep what is this user's.
func (l place) appData() string {
	variable, below := "XDG_CONFIG_HOME", ".config"
	switch l.os {
	case "windows":
		variable, below = "APPDATA", filepath.Join("AppData", "Roaming")
	case "darwin":
		return filepath.Join(l.home, "Library", "Application Support")
	}
	if v := l.env(variable); v != "" {
		return v
	}
	return filepath.Join(l.home, below)
}
