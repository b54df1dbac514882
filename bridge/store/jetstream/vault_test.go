package jetstream

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records/vault"
	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
	clusterkey "github.com/pagetools/pagetools/transport/cluster/key"
)

// TestVault: what all nodes keep together is kept by each server as bridge.Memory says.
func TestVault(t *testing.T) {
	t.Parallel()
	each(t, natstest.Options{}, func(t *testing.T, c *natstest.Cluster) {
		open := func(t *testing.T, m bridgetest.MemoryOptions) bridge.Memory {
			t.Helper()
			keys := clusterkey.Keys{Now: clusterkey.New()} // which names everything otherwise
			id := rand.Text()[:8]
			o := vault.Options{Records: connect(t, c), Name: keys.Namers()[0].Name, Sealer: keys.Sealer(clusterkey.Records), Self: func() string { return id },
				Dead: func(context.Context, string) (bool, error) { return false, nil }, MaxKeys: m.MaxKeys, MaxReplyBytes: m.MaxReplyBytes, MaxVersionBytes: m.MaxVersionBytes}
			return bridge.Memory{Replies: vault.NewReplies(o), Grants: vault.NewGrants(o), KnownTools: vault.NewKnown(o), Versions: vault.NewVersions(o)}
		}
		bridgetest.CheckReplies(t, open)
		bridgetest.CheckGrants(t, open)
		bridgetest.CheckVersions(t, open)
	})
}
