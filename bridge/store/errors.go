package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
)

// What can be wrong with a data folder. Every error of this package that has
// such a cause matches one of them with errors.Is; the text says more.
var (
	// ErrLocked: another process holds the database for longer than
	// Options.Busy.
	ErrLocked = errors.New("the database is locked by another process")
	// ErrCorrupt: the file is not a database, or its pages contradict each
	// other. Nothing was changed.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrReadOnly: the folder or a file in it cannot be written.
	ErrReadOnly = errors.New("the data folder cannot be written")
	// ErrFull: no room on the disk, or the database is at its size limit.
	ErrFull = errors.New("the disk is full")
	// ErrVersion: another version of pagetools made the database. Nothing was changed.
	ErrVersion = errors.New("the database is of another version of pagetools")
	// ErrExposed: others may write to the folder, so what is in it proves
	// nothing.
	ErrExposed = errors.New("others can write to the data folder")
	// ErrClosed: the store was closed.
	ErrClosed = bridge.ErrStoreClosed
)

// classify adds the typed error to what the database or the file system said.
func classify(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{ErrLocked, ErrCorrupt, ErrReadOnly, ErrFull, ErrVersion} {
		if errors.Is(err, known) {
			return err
		}
	}
	kind := fileKind(err)
	if failed, ok := errors.AsType[*sqlite.Error](err); ok {
		kind = resultKind(failed.Code())
	}
	if kind == nil {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// resultKind reads a result code of SQLite (sqlite.org/rescode.html). Extended
// codes keep the primary one in their low byte.
func resultKind(code int) error {
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return ErrLocked
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ErrCorrupt
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return ErrReadOnly
	case sqlite3.SQLITE_FULL:
		return ErrFull
	}
	// The shared memory file is grown before it is mapped. The only usual cause
	// is a full disk.
	if code == sqlite3.SQLITE_IOERR_SHMSIZE {
		return ErrFull
	}
	return nil
}

func fileKind(err error) error {
	switch {
	case files.IsFull(err):
		return ErrFull
	case errors.Is(err, fs.ErrPermission), files.IsReadOnly(err):
		return ErrReadOnly
	}
	return nil
}

// failure says why something cannot be written, until it is written again. The log
// gets the first error, and a line when writing works again.
type failure struct {
	what string
	log  *slog.Logger
	err  atomic.Pointer[error]
}

func (f *failure) get() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *failure) set(err error) {
	switch {
	case err != nil:
		if f.err.Swap(&err) == nil {
			f.log.Error(f.what+" cannot be written", slog.Any("error", err))
		}
	case f.err.Load() != nil && f.err.Swap(nil) != nil:
		f.log.Info(f.what + " is written again")
	}
}
