package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
)

// credentialDigest names a credential with what it may do: with fewer rights it is another one. It does
// not tell the token.
func credentialDigest(x *transport.Credential) string {
	sum := sha256.Sum256([]byte(x.Token))
	may, sites := slices.Sorted(slices.Values(x.May)), slices.Sorted(slices.Values(x.Sites))
	whole, err := json.Marshal([]any{x.Name, hex.EncodeToString(sum[:]), may, sites, x.Sites == nil})
	if err != nil {
		return "" // there is no such value
	}
	sum = sha256.Sum256(whole)
	return hex.EncodeToString(sum[:])
}

// unrevoked leaves out the credentials that were revoked at any node of the cluster: of the files of all
// nodes, the stricter counts.
func (n *node) unrevoked(all []transport.Credential) []transport.Credential {
	if n == nil {
		return all
	}
	return slices.DeleteFunc(all, func(x transport.Credential) bool { return n.cluster.Revoked.Has(credentialDigest(&x)) })
}

// revoke tells the other nodes which credentials a file does not have any more, and which it has anew.
func (n *node) revoke(was, is *config.Config) {
	if n == nil {
		return
	}
	digests := func(f *config.Config) map[string]bool {
		all := map[string]bool{}
		for i := range f.Callers {
			one := credential(&f.Callers[i])
			all[credentialDigest(&one)] = true
		}
		return all
	}
	before, after := digests(was), digests(is)
	var revoked, given []string
	for digest := range before {
		if !after[digest] {
			revoked = append(revoked, digest)
		}
	}
	for digest := range after {
		if !before[digest] {
			given = append(given, digest)
		}
	}
	n.cluster.Revoked.Change(revoked, given)
}

// revocations has a value after another node revoked a credential, or gave one again.
func (n *node) revocations() <-chan struct{} {
	if n == nil {
		return nil
	}
	return n.cluster.Revoked.News()
}

// served lists the callers to begin with, of whom a node knows by now which ones were revoked. Where that
// leaves none, nobody may call: without callers, a listener would serve everybody.
func (c *callers) served() []transport.Credential {
	file := c.read()
	c.faces.Replace(c.named(file))
	return c.ofFaces(file)
}

// drop ends what callers do whose credentials were revoked at another node, whatever the file here says.
func (c *callers) drop(a *app.App) {
	c.faces.Replace(c.ofFaces(c.file))
	c.console.Replace(c.ofConsole(c.file))
	a.Bridge.Revoke()
	a.Revoke()
}
