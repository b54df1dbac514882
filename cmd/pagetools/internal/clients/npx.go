package clients

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// npmPackage is npm's package of this program.
const npmPackage = "pagetools"

// byNPX has npx start the version of npm's package. The version is pinned: what the client starts
// has the user's logins, and must not become something else by itself.
func (c *Client) byNPX(s *Server, system string) error {
	words := slices.Concat([]string{"npx", "-y", npmPackage + "@" + s.NPX}, s.Args)
	if system == "windows" {
		// npx is a batch file there: cmd reads its arguments, wherever they come from.
		for _, w := range words {
			if strings.ContainsAny(w, "&|<>^%!\"\r\n") {
				return fmt.Errorf("cmd, which starts npx on Windows, would read %s otherwise; name it in a "+
					"configuration file, and that with --config", text.Line(w))
			}
		}
		if c.cmdNPX {
			words = slices.Concat([]string{"cmd", "/c"}, words)
		}
	}
	s.Command, s.Args = words[0], words[1:]
	return nil
}

// startsNPX reports whether a command with a name has npx start this program.
func startsNPX(name string, args []string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".exe"), ".cmd")
	if name == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c") {
		name, args = strings.TrimSuffix(strings.ToLower(args[1]), ".cmd"), args[2:]
	}
	if name != "npx" {
		return false
	}
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a == npmPackage || strings.HasPrefix(a, npmPackage+"@")
		}
	}
	return false
}
