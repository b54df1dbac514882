package store

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/pagetools/pagetools/bridge/files"
)

// olderAudit is the file of the audit folder that holds the audit as pagetools
// kept it in the database before it was in files.
const olderAudit = auditFolder + "/before-files.jsonl"

// keepOlderAudit writes the audit of an older database to a file, before the
// migration drops it: each record with its hash, and the checkpoints after them.
// It is on the disk when this returns. A process that is killed in the middle
// leaves the database as it was, and the next one begins again.
func keepOlderAudit(ctx context.Context, tx *sql.Tx, root *os.Root) error {
	if root == nil { // in memory: there never was one
		return nil
	}
	if err := settleOlder(root); err != nil {
		return err
	}
	var records int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM audit").Scan(&records); err != nil ||
		records == 0 {
		return err
	}
	const draft = olderAudit + ".draft"
	file, err := openOwn(root, draft, os.O_RDWR|os.O_TRUNC)
	if err != nil {
		return err
	}
	err = errors.Join(writeOlder(ctx, tx, file), file.Sync(), file.Close())
	if err == nil {
		err = root.Rename(draft, olderAudit)
	}
	if err != nil {
		return fmt.Errorf("moving the audit out of the database: %w", classify(err))
	}
	return nil
}

func writeOlder(ctx context.Context, tx *sql.Tx, file *os.File) error {
	out := bufio.NewWriter(file)
	err := each(ctx, tx, func(rows *sql.Rows) error {
		var body, hash []byte
		if err := rows.Scan(&body, &hash); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%s\n", withHash(body, hash))
		return err
	}, "SELECT record, hash FROM audit WHERE length(record) > 0 ORDER BY seq")
	if err != nil {
		return err
	}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var line []byte
		if err := rows.Scan(&line); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%s\n", line)
		return err
	}, "SELECT line FROM checkpoints ORDER BY seq")
	return errors.Join(err, out.Flush())
}

// settleOlder refuses to go on while an older pagetools writes into the folder,
// and moves the journals of those that were killed: what is in them never came
// into their audit.
func settleOlder(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ownersFolder)
	if err != nil {
		return fmt.Errorf("listing the owners: %w", classify(err))
	}
	for _, e := range entries {
		name := path.Join(ownersFolder, e.Name())
		if strings.Contains(e.Name(), ".journal.") {
			if err := root.Rename(name, path.Join(auditFolder, e.Name())); err != nil {
				return fmt.Errorf("moving %s: %w", name, classify(err))
			}
			continue
		}
		if livingOlder(root, name) {
			return fmt.Errorf("%w: an older pagetools runs in this folder, and must end first",
				ErrLocked)
		}
	}
	return nil
}

// livingOlder reports whether the file is that of a living owner which does not
// say when it began: no version that has the audit in files leaves that out.
func livingOlder(root *os.Root, name string) bool {
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && info.Size() == 0 &&
		files.TryShare(f) != nil
}
