package app

import (
	"context"
	"errors"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/store/jetstream"
	"github.com/pagetools/pagetools/bridge/store/postgres"
	"github.com/pagetools/pagetools/bridge/text"
)

// CheckMemory returns an error for what no ClusterOptions.Memory can be. It does not have the address.
func CheckMemory(address string) error { return postgres.Check(address) }

func openMemory(ctx context.Context, o *ClusterOptions, name string, existing bool) (*postgres.Store, error) {
	return postgres.Open(ctx, postgres.Options{Address: o.Memory, Name: name, Existing: existing, Log: o.Log})
}

// openVault connects to the engine of what must not be lost with this node, and waits for it until ctx ends.
func (c *Cluster) openVault(ctx context.Context, o *ClusterOptions) (err error) {
	c.vault = c.records
	if o.Memory == "" {
		return nil
	}
	for {
		if c.memory, err = openMemory(ctx, o, o.Name, false); err == nil {
			c.vault = &measured{Records: c.memory}
			return nil
		}
		if errors.Is(err, postgres.ErrAddress) {
			return err
		}
		o.waits(err)
		if !records.Pause(ctx, engineWait) {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

func (c *Cluster) closeStores() {
	if c.memory != nil {
		c.memory.Close()
	}
	c.store.Close()
}

// sweep removes from the engines what nobody needs any more.
func (c *Cluster) sweep(ctx context.Context, age time.Duration) (n int, err error) {
	n, err = c.store.Sweep(ctx, age)
	if c.memory != nil {
		old, failed := c.memory.Sweep(ctx)
		n, err = n+old, errors.Join(err, failed)
	}
	return n, err
}

// VaultStatus says where consent, keys and versions are.
type VaultStatus struct {
	// Kind is nats, where the engine has them, or postgres.
	Kind string `json:"kind"`
	// Copies says on how many servers of NATS they are; 0 is not known.
	Copies int `json:"copies,omitempty"`
	// Writes says whether PostgreSQL takes writes, and RoundTripMs how long one took; nil: nobody tried.
	Writes      *bool   `json:"writes,omitempty"`
	RoundTripMs float64 `json:"roundTripMs,omitempty"`
}

const vaultInNATS, vaultInPostgres = "nats", "postgres"

// safeCopies is on how many servers what is kept outlives a power failure, whenever each writes to its disk.
const safeCopies = 3

// copiesWarning says what a power failure may cost; "" is nothing. NATS does not say when it writes to its
// disk.
func copiesWarning(copies int) string {
	if copies == 0 || copies >= safeCopies {
		return ""
	}
	return "kept results may be forgotten after a power failure, and so may consent and versions, unless the NATS server has " +
		"sync_interval: always: it writes to its disk up to two minutes late. Three servers keep three copies"
}

// Warning says what may be lost of what the nodes keep for good; "" is nothing.
func (c *Cluster) Warning() string {
	if c.memory != nil {
		return c.memory.Warning()
	}
	return copiesWarning(c.store.Copies())
}

// vaultOf opens the PostgreSQL that a status looks at; nil: nobody named one.
type vaultOf func(ctx context.Context) (memory *postgres.Store, end func(), err error)

// lookAtVault looks where the nodes keep what must not be lost with one, and whether it can be written.
func (s *ClusterStatus) lookAtVault(ctx context.Context, store *jetstream.Store, vault vaultOf) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	memory, end, err := vault(ctx)
	if err == nil {
		defer end()
	}
	if memory != nil || err != nil {
		began := time.Now()
		if err == nil {
			s.warnOf(memory.Warning())
			err = records.Probe(ctx, memory)
			s.Vault.RoundTripMs = float64(time.Since(began).Microseconds()) / 2000 // of two
		}
		writes := err == nil
		s.Vault.Kind, s.Vault.Writes = vaultInPostgres, &writes
		if err != nil {
			s.warn("the vault takes no writes: %s", text.Line(err.Error()))
		}
		return
	}
	form, _, err := readVault(ctx, store)
	if err == nil && form.Elsewhere != "" {
		s.Vault.Kind = vaultInPostgres
		s.warn("consent, versions and results are kept in PostgreSQL, which was not looked at: its address is not known here")
		return
	}
	s.Vault.Copies = store.Copies()
	s.warnOf(copiesWarning(s.Vault.Copies))
}

func (s *ClusterStatus) warnOf(warning string) {
	if warning != "" {
		s.Warnings = append(s.Warnings, warning)
	}
}
