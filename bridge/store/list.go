package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/files"
)

// archive is the folder of the audit: the files of all chains, and the list of their
// newest checkpoints.
type archive struct {
	root   *os.Root
	signer *signer
}

// partName returns the name of a file of a chain.
func partName(id string, number int) string {
	return fmt.Sprintf("%s/%s-%d.jsonl", auditFolder, id, number)
}

// contents lists the files of all chains in their order, and the names of the
// files that belong to no chain.
func (f archive) contents() (parts map[string][]int, others []string, err error) {
	entries, err := fs.ReadDir(f.root.FS(), auditFolder)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the audit: %w", classify(err))
	}
	parts = map[string][]int{}
	for _, e := range entries {
		name := auditFolder + "/" + e.Name()
		id, rest, _ := strings.Cut(e.Name(), "-")
		number, err := strconv.Atoi(strings.TrimSuffix(rest, ".jsonl"))
		switch {
		case err == nil && name == partName(id, number):
			parts[id] = append(parts[id], number)
		case name != listFile && name != lockFile:
			others = append(others, e.Name())
		}
	}
	for _, numbers := range parts {
		slices.Sort(numbers)
	}
	return parts, others, nil
}

// syncNames syncs the folder, so that the names of its files are on the disk.
func (f archive) syncNames() error {
	if err := files.SyncIn(f.root, auditFolder); err != nil {
		return fmt.Errorf("bringing the audit to the disk: %w", classify(err))
	}
	return nil
}

// list has the newest mark of every file, in the order in which they were made.
// It is signed as a whole, so that no file can be taken out of it.
type list struct {
	Files     []mark `json:"files"`
	Signature string `json:"signature"`
}

// errList means that somebody changed the list. Nothing is signed on top of such a list.
var errList = errors.New("the list of checkpoints (" + listFile + ") is damaged, or not signed with the key of this folder")

// list reads the list. A missing one has no files.
func (f archive) list() ([]mark, error) {
	content, err := readOwn(f.root, listFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var l list
	if err := decodeExactly(content, &l); err != nil ||
		!f.signer.signed(listDomain, l.Files, l.Signature) {
		return nil, errList
	}
	return l.Files, nil
}

// enlist adds marks to the list, in the place of earlier ones of their files. The
// files must be on the disk; the list is there when this returns.
func (f archive) enlist(marks ...mark) error {
	lock, err := openOwn(f.root, lockFile, os.O_RDWR)
	if err != nil {
		return err
	}
	defer lock.Close() // releases the lock
	if err := files.Lock(lock); err != nil {
		return fmt.Errorf("locking the audit: %w", err)
	}
	var l list
	if l.Files, err = f.list(); err != nil {
		return err
	}
	for _, m := range marks {
		l.Files = slices.DeleteFunc(l.Files,
			func(o mark) bool { return o.Chain == m.Chain && o.File == m.File })
		l.Files = append(l.Files, m)
	}
	if l.Signature, err = f.signer.sign(listDomain, l.Files); err != nil {
		return err
	}
	content, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := files.WriteIn(f.root, listFile, content, 0o600); err != nil {
		return fmt.Errorf("writing the list of checkpoints: %w", classify(err))
	}
	return nil
}
