package clients

import (
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// entry holds what a file says of one server, in its order.
type entry struct {
	Name    string            `json:"name,omitempty"` // only of a command
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Bearer  string            `json:"bearer_token_env_var,omitempty"`
}

// entryKeys are all keys that say what a server is, today's and older ones. What
// else is in an entry is the user's.
var entryKeys = []string{
	"type", "command", "args", "env", "url", "httpUrl", "headers",
	"bearer_token_env_var", "http_headers", "env_http_headers",
}

func (c *Client) entry(s Server) entry {
	if s.URL == "" {
		return entry{Type: c.local, Command: s.Command, Args: s.Args, Env: s.Env}
	}
	e := entry{Type: c.remote, URL: s.URL}
	switch {
	case s.Token && c.bearer == "":
		e.Bearer = TokenVariable
	case s.Token:
		e.Headers = map[string]string{"Authorization": c.bearer}
	}
	return e
}

// json returns the entry on one line, with invisible characters as escapes.
func (e entry) json() string {
	return text.Escape(string(schema.MustEncode(e)))
}

// tree returns the entry as a syntax tree, on one line.
func (e entry) tree() *hujson.Object {
	v, err := hujson.Parse([]byte(e.json()))
	o, ok := v.Value.(*hujson.Object)
	if err != nil || !ok { // it is JSON that we made
		panic(err)
	}
	return o
}

// Snippet returns the whole of a file that has only this server.
func (c *Client) Snippet(s Server) string {
	if c.Remote != nil {
		return c.Remote.snippet(s)
	}
	if c.toml {
		return tomlTable(c.key, s.Name, c.entry(s))
	}
	text, err := editJSON("{}", c, s)
	if err != nil { // an empty object takes any server
		panic(err)
	}
	return text + "\n"
}

var (
	errComments = errors.New("has comments in that entry, which would be lost")
	errForeign  = errors.New("has another server of that name; give yours one with NAME=TARGET")
)

// isOurs reports whether an entry that a client has under our name is one of this
// program's, so that it may be replaced.
func (s Server) isOurs(command string, args []string, address string) bool {
	if command != "" {
		name := path.Base(strings.ReplaceAll(command, `\`, "/"))
		return startsNPX(name, args) || name == "pagetools" || name == "pagetools.exe" || name == filepath.Base(s.Command)
	}
	u, err := url.Parse(address)
	if err != nil || (u.Path != "/mcp" && !strings.HasPrefix(u.Path, "/mcp/")) {
		return false
	}
	ours, err := url.Parse(s.URL)
	if err == nil {
		u.Scheme = ours.Scheme // it may have begun with http
	}
	return origin.Loopback(u.Hostname()) || err == nil && origin.SameURL(u, ours)
}
