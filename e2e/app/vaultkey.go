package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/vault"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// vaultKeyRecord holds the key of what the nodes keep for good, sealed with the key of the cluster. That
// can be replaced then, and what is kept stays where it is.
const vaultKeyRecord = "m.VAULT"

// vaultWait is waited before the engine is asked again.
const vaultWait = 100 * time.Millisecond

// vaultForm is the form of that record.
type vaultForm struct {
	Box []byte `json:"box"`
}

// ErrOtherKey is the error of a cluster whose engine keeps what no key of this node opens.
var ErrOtherKey = errors.New("what the engine keeps was sealed with another key of a cluster: the record " + vaultKeyRecord + " of the bucket " +
	records.Bucket(vaultKeyRecord) + " does not open")

// vaultKey returns the key of what the nodes keep for good, and makes it where there is none. It is sealed
// anew where it was sealed with the key that is being replaced. It tries until ctx ends.
func vaultKey(ctx context.Context, r records.Records, keys key.Keys) (key.Keys, error) {
	for {
		k, err := tryVaultKey(ctx, r, keys)
		if err == nil || errors.Is(err, ErrOtherKey) || errors.Is(err, records.ErrNewer) {
			return key.Keys{Now: k}, err
		}
		if !records.Pause(ctx, vaultWait) {
			return key.Keys{}, fmt.Errorf("reading the key of what is kept: %w", err)
		}
	}
}

func tryVaultKey(ctx context.Context, r records.Records, keys key.Keys) (k key.Key, err error) {
	bucket := records.Bucket(vaultKeyRecord)
	is, err := r.Get(ctx, vaultKeyRecord)
	if errors.Is(err, records.ErrNone) {
		k, err = key.New(), nil
	} else if err == nil {
		var form vaultForm
		if err := records.Decode(is.Value, &form); err != nil {
			return k, err
		}
		text, openErr := keys.Sealer(key.Records).Open(bucket, vaultKeyRecord, form.Box)
		if openErr != nil {
			return k, ErrOtherKey
		}
		_, notNow := key.Keys{Now: keys.Now}.Sealer(key.Records).Open(bucket, vaultKeyRecord, form.Box)
		if k, err = key.Parse(string(text)); err != nil || notNow == nil {
			return k, err
		}
	}
	if err != nil {
		return k, err
	}
	_, err = records.Put(ctx, r, vaultKeyRecord, vaultForm{keys.Sealer(key.Records).Seal(bucket, vaultKeyRecord, []byte(k.Text()))}, is.Revision)
	return k, err // where the answer was lost, or somebody else was first, it is read again
}

func vaultOptions(r records.Records, keys key.Keys) vault.Options {
	return vault.Options{Records: r, Sealer: keys.Sealer(key.Records), Name: keys.Namers()[0].Name}
}

// logins opens the logins at APIs that all nodes have. It tries until ctx ends.
func logins(ctx context.Context, o vault.Options, keys key.Keys) (*oauth.Store, error) {
	for {
		s, err := oauth.ShareStore(ctx, vault.NewFile(o, "logins"), keys.Now.Subkey(key.Logins))
		if err == nil || !records.Pause(ctx, vaultWait) {
			return s, err
		}
	}
}

// OpenLogins opens the logins at APIs of a cluster, of which this process is no node. The caller must call
// end.
func OpenLogins(ctx context.Context, o *ClusterOptions) (s *oauth.Store, end func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	store, err := openExisting(ctx, o, "auth")
	if err != nil {
		return nil, nil, err
	}
	keys, err := vaultKey(ctx, store, o.Keys)
	if err == nil {
		v := vaultOptions(store, keys)
		v.Self = func() string { return "" }
		v.Dead = func(context.Context, string) (bool, error) { return false, nil } // a node finds out
		s, err = logins(ctx, v, keys)
	}
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	return s, store.Close, nil
}
