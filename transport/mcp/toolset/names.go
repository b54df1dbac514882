package toolset

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
)

const (
	// maxName is the longest name of faithful lists, which APIs of models still take.
	maxName = 64
	// maxAdapted leaves room for what clients put in front: Claude Code "mcp__SERVER__" in the 64
	// characters of the API, Cursor the name of the server in 60.
	maxAdapted = 40
	// reservedPrefix begins the names of our own tools.
	reservedPrefix = "pagetools_"
	// suffixLength is "_" and six hexadecimal digits.
	suffixLength = 7
	// nameRounds bounds how often names that collide are made again.
	nameRounds = 16
)

var (
	legalName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	likeHashed = regexp.MustCompile(`_[0-9a-f]{6}$`)
)

// fold returns what is left of a legal name where a client takes two names for one: some
// ignore case, some make an underscore of a hyphen.
func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "_")) }

// reserved reports whether a name is kept for our own tools.
func reserved(name string) bool { return strings.HasPrefix(fold(name), reservedPrefix) }

// naming says how names are made.
type naming struct {
	prefixed bool // the name of the site comes first
	most     int  // characters
}

// naming returns how the options want names.
func (o Options) naming() naming {
	if o.Faithful {
		return naming{o.Prefixed, maxName}
	}
	return naming{o.Prefixed, maxAdapted}
}

// identity holds the parts of a tool's name.
type identity struct{ site, origin, raw string }

// base is the name before anything has to be changed.
func (n naming) base(id identity) string {
	if n.prefixed {
		return id.site + "_" + id.raw
	}
	return id.raw
}

// hashed is the name of a tool that cannot keep its own: the beginning of the legal part, and a
// hash of origin and raw name. Rounds after the first, when somebody else has that name too, hash
// the site and the round as well.
func (n naming) hashed(id identity, round int) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && legalName.MatchString("_"+string(r)) {
			return r
		}
		return '_'
	}, n.base(id))
	switch {
	case clean == "":
		clean = "tool"
	case !legalName.MatchString(clean[:1]): // some clients want a letter first
		clean = "_" + clean
	}
	if reserved(clean) {
		clean = "page_" + clean
	}
	seed := id.origin + "\n" + id.raw
	if round > 0 {
		seed += "\n" + id.site + "\n" + strconv.Itoa(round)
	}
	sum := sha256.Sum256([]byte(seed))
	return clean[:min(len(clean), n.most-suffixLength)] + "_" + hex.EncodeToString(sum[:3])
}

// fits reports whether a name is legal, short enough, and not what every object of JavaScript has:
// clients that keep tools in objects lose that one, or the whole list.
func (n naming) fits(base string) bool {
	return legalName.MatchString(base) && len(base) <= n.most && !schema.InPrototype(strings.ReplaceAll(base, "-", "_"))
}

// assign returns a name for each tool: fit, unique after folding, and the same whatever
// the order of tools. A name stays as it is when it fits and cannot be another's; "" means
// that none was found. Sites lists all that the endpoint serves, also those without
// tools now.
//
// With prefixes, the name <site>_<tool> belongs to the longest site name that fits,
// whether or not that site has such a tool, and what looks like a name with a hash
// gets a hash: so no tool can ever take over a name that another site's tool had.
func (n naming) assign(sites []string, tools []identity) []string {
	names := make([]string, len(tools))
	var plain, changed []int
	for i, id := range tools {
		if base := n.base(id); n.keeps(sites, id, base) {
			names[i] = base
			plain = append(plain, i)
		} else {
			changed = append(changed, i)
		}
	}
	changed = append(changed, n.settle(tools, names, plain, changed)...)
	for _, i := range changed {
		names[i] = ""
	}
	taken := map[string]bool{}
	for _, name := range names {
		taken[fold(name)] = true
	}
	for round := 0; round < nameRounds && len(changed) > 0; round++ {
		var again []int
		wanted := map[string]int{}
		for _, i := range changed {
			wanted[fold(n.hashed(tools[i], round))]++
		}
		for _, i := range changed {
			name := n.hashed(tools[i], round)
			if wanted[fold(name)] > 1 || taken[fold(name)] {
				again = append(again, i)
				continue
			}
			names[i] = name
		}
		for name := range wanted {
			taken[name] = true
		}
		changed = again
	}
	return names
}

// keeps reports whether a tool may keep its base as its name, other tools aside.
func (n naming) keeps(sites []string, id identity, base string) bool {
	switch {
	case !n.fits(base), reserved(base):
		return false
	case !n.prefixed:
		return true
	case likeHashed.MatchString(fold(base)):
		return false
	}
	for _, site := range sites {
		if len(site) > len(id.site) && strings.HasPrefix(fold(base), site+"_") {
			return false
		}
	}
	return true
}

// settle lists the tools of plain that cannot keep their names after all: several
// want the same, or it is the hashed name of another tool. To meet one by chance is
// most unlikely, so whoever declares it wants to be taken for the other.
func (n naming) settle(tools []identity, names []string, plain, changed []int) []int {
	owners, hashes := map[string]int{}, map[string]bool{}
	for _, i := range plain {
		owners[fold(names[i])]++
	}
	for _, i := range changed {
		hashes[fold(n.hashed(tools[i], 0))] = true
	}
	var lost []int
	gone := map[int]bool{}
	for more := true; more; {
		more = false
		for _, i := range plain {
			name := fold(names[i])
			if gone[i] || owners[name] == 1 && !hashes[name] {
				continue
			}
			gone[i], more = true, true
			lost = append(lost, i)
			hashes[fold(n.hashed(tools[i], 0))] = true
		}
	}
	return lost
}
