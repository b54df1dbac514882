package recordstest

import (
	"context"
	"errors"

	"github.com/pagetools/pagetools/bridge/records"
)

// ErrFault is the error of operations that a fault ended.
var ErrFault = errors.New("the engine did not answer")

// Fault says what becomes of an operation.
type Fault int

// The faults of operations.
const (
	None  Fault = iota
	Fail        // the operation does not happen, and its error does not say so
	Lose        // where the operation succeeds, its answer is an error all the same
	Hang        // the operation does not happen, and there is no answer until the context ends
	Drown       // the operation happens, and there is no answer until the context ends
)

// Op is one operation on records.
type Op struct {
	Name string // get, create, update, delete, watch
	Key  string // or the prefix
}

// Faulty passes operations on to Records.
type Faulty struct {
	records.Records
	// Fault says what becomes of an operation, and may wait. Nil ends none.
	Fault func(Op) Fault
	// After is called when the operation happened, before its answer is there; nil does nothing.
	After func(Op)
}

var _ records.Records = (*Faulty)(nil)

// Get implements records.Records.
func (f *Faulty) Get(ctx context.Context, key string) (records.Record, error) {
	return do(ctx, f, Op{"get", key}, func(ctx context.Context) (records.Record, error) { return f.Records.Get(ctx, key) })
}

// Create implements records.Records.
func (f *Faulty) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return do(ctx, f, Op{"create", key}, func(ctx context.Context) (uint64, error) { return f.Records.Create(ctx, key, value) })
}

// Update implements records.Records.
func (f *Faulty) Update(ctx context.Context, key string, value []byte, was uint64) (uint64, error) {
	return do(ctx, f, Op{"update", key}, func(ctx context.Context) (uint64, error) { return f.Records.Update(ctx, key, value, was) })
}

// Delete implements records.Records.
func (f *Faulty) Delete(ctx context.Context, key string, was uint64) error {
	_, err := do(ctx, f, Op{"delete", key}, func(ctx context.Context) (struct{}, error) { return struct{}{}, f.Records.Delete(ctx, key, was) })
	return err
}

// Watch implements records.Records.
func (f *Faulty) Watch(ctx context.Context, prefix string) (<-chan records.Record, error) {
	return do(ctx, f, Op{"watch", prefix}, func(ctx context.Context) (<-chan records.Record, error) { return f.Records.Watch(ctx, prefix) })
}

func do[T any](ctx context.Context, f *Faulty, op Op, work func(context.Context) (T, error)) (T, error) {
	var nothing T
	fault := None
	if f.Fault != nil {
		fault = f.Fault(op)
	}
	switch fault {
	case None, Lose, Drown:
	case Fail:
		return nothing, ErrFault
	case Hang:
		<-ctx.Done()
		return nothing, ctx.Err()
	}
	doing := ctx
	if fault == Drown { // it happens, however short the caller's patience is
		doing = context.WithoutCancel(ctx)
	}
	got, err := work(doing)
	if f.After != nil {
		f.After(op)
	}
	switch fault {
	case None, Fail, Hang:
	case Lose:
		if err == nil {
			return nothing, ErrFault
		}
	case Drown:
		<-ctx.Done()
		return nothing, ctx.Err()
	}
	return got, err
}
