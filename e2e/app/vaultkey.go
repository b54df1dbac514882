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

// vaultForm is the form of that record. In an engine that has none of what is kept, it has a word of the key
// in the place of the key, so that all nodes keep it in one place.
type vaultForm struct {
	Box       []byte `json:"box,omitempty"`
	Elsewhere string `json:"elsewhere,omitempty"`
}

// ErrOtherKey is the error of a cluster whose engine keeps what no key of this node opens.
var ErrOtherKey = errors.New("what the engine keeps was sealed with another key of a cluster: the record " + vaultKeyRecord + " of the bucket " +
	records.Bucket(vaultKeyRecord) + " does not open")

// ErrOtherVault is the error of a cluster whose nodes keep in another place what must not be lost with one.
var ErrOtherVault = errors.New("other nodes of the cluster keep consent, versions and results elsewhere, as the record " + vaultKeyRecord + " of the bucket " +
	records.Bucket(vaultKeyRecord) + " in its engine says")

// vaultKey returns the key of what the nodes keep for good, and makes it where there is none. It is sealed
// anew where it was sealed with the key that is being replaced. It tries until ctx ends.
func vaultKey(ctx context.Context, r records.Records, keys key.Keys) (key.Keys, error) {
	for {
		k, err := tryVaultKey(ctx, r, keys)
		if err == nil || isFinal(err) {
			return key.Keys{Now: k}, err
		}
		if !records.Pause(ctx, vaultWait) {
			return key.Keys{}, fmt.Errorf("reading the key of what is kept: %w", err)
		}
	}
}

// isFinal reports whether it makes no sense to try again.
func isFinal(err error) bool {
	return errors.Is(err, ErrOtherKey) || errors.Is(err, ErrOtherVault) || errors.Is(err, records.ErrNewer)
}

// readVault reads the record, which has revision 0 where there is none.
func readVault(ctx context.Context, r records.Records) (form vaultForm, revision uint64, err error) {
	is, err := r.Get(ctx, vaultKeyRecord)
	if errors.Is(err, records.ErrNone) {
		return form, 0, nil
	}
	if err == nil {
		err = records.Decode(is.Value, &form)
	}
	return form, is.Revision, err
}

// pinVault notes in the engine that the nodes keep elsewhere what must not be lost with one, under that key.
// It tries until ctx ends. The error is ErrOtherVault where others keep it in the engine, or under another key.
func pinVault(ctx context.Context, engine records.Records, k key.Key) error {
	mine := vaultForm{Elsewhere: key.Keys{Now: k}.Namers()[0].Name("vault")}
	for {
		is, revision, err := readVault(ctx, engine)
		switch {
		case err == nil && revision == 0:
			_, err = records.Put(ctx, engine, vaultKeyRecord, mine, 0) // it is read again
		case err == nil && is.Elsewhere == mine.Elsewhere:
			return nil
		case err == nil:
			return ErrOtherVault
		}
		if isFinal(err) {
			return err
		}
		if err != nil && !records.Pause(ctx, vaultWait) {
			return fmt.Errorf("noting where it is kept: %w", err)
		}
	}
}

func tryVaultKey(ctx context.Context, r records.Records, keys key.Keys) (k key.Key, err error) {
	bucket := records.Bucket(vaultKeyRecord)
	form, revision, err := readVault(ctx, r)
	switch {
	case err != nil:
		return k, err
	case form.Elsewhere != "":
		return k, ErrOtherVault
	case revision == 0:
		k = key.New()
	default:
		text, openErr := keys.Sealer(key.Records).Open(bucket, vaultKeyRecord, form.Box)
		if openErr != nil {
			return k, ErrOtherKey
		}
		_, notNow := key.Keys{Now: keys.Now}.Sealer(key.Records).Open(bucket, vaultKeyRecord, form.Box)
		if k, err = key.Parse(string(text)); err != nil || notNow == nil {
			return k, err
		}
	}
	_, err = records.Put(ctx, r, vaultKeyRecord, vaultForm{Box: keys.Sealer(key.Records).Seal(bucket, vaultKeyRecord, []byte(k.Text()))}, revision)
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
	var r records.Records = store
	end = store.Close
	if o.Memory != "" {
		memory, err := openMemory(ctx, o, "auth", true)
		if err != nil {
			store.Close()
			return nil, nil, err
		}
		r, end = memory, func() { memory.Close(); store.Close() }
	}
	keys, err := vaultKey(ctx, r, o.Keys)
	if err == nil && o.Memory != "" {
		err = pinVault(ctx, store, keys.Now)
	}
	if err == nil {
		v := vaultOptions(r, keys)
		v.Self = func() string { return "" }
		v.Dead = func(context.Context, string) (bool, error) { return false, nil } // a node finds out
		s, err = logins(ctx, v, keys)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return s, end, nil
}
