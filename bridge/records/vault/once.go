package vault

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Once keeps what counts once among all nodes, for 20 minutes at most. Safe for concurrent use.
type Once struct{ vault }

var _ bridge.Once = (*Once)(nil)

// NewOnce returns what counts once in the cluster.
func NewOnce(o Options) *Once { return &Once{vault{o}} }

// keptOnce is a value that counts once. Put and Taken name who did that: an answer that was lost is no
// second one.
type keptOnce struct {
	Value []byte    `json:"value"`
	Until time.Time `json:"until"`
	Put   string    `json:"put"`
	Taken string    `json:"taken,omitempty"`
}

func (o *Once) edit(ctx context.Context, name, what string, do func(is *keptOnce) *keptOnce) error {
	return patiently(ctx, what, func(ctx context.Context) error {
		return edit(ctx, o.vault, "t.ONCE-"+o.o.Name("once", name)+".1", func(is *keptOnce) *keptOnce {
			if is != nil && !time.Now().Before(is.Until) {
				is = nil
			}
			return do(is)
		})
	})
}

// Put implements bridge.Once.
func (o *Once) Put(ctx context.Context, name string, value []byte, until time.Time) (put bool, err error) {
	mine := rand.Text()
	err = o.edit(ctx, name, "keeping what counts once", func(is *keptOnce) *keptOnce {
		if is == nil {
			is = &keptOnce{Value: value, Until: until, Put: mine}
		}
		put = is.Put == mine
		return is
	})
	return put && err == nil, err
}

// Take implements bridge.Once.
func (o *Once) Take(ctx context.Context, name string) (value []byte, first bool, err error) {
	mine := rand.Text()
	err = o.edit(ctx, name, "taking what counts once", func(is *keptOnce) *keptOnce {
		if value, first = nil, false; is != nil {
			if is.Taken == "" {
				is.Taken = mine
			}
			value, first = is.Value, is.Taken == mine
		}
		return is
	})
	if err != nil {
		return nil, false, err
	}
	return value, first, nil
}
