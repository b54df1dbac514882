package chrome

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
)

// A profile is a folder and, beside it, the lock of that name. The lock is made first and removed
// last, so that no janitor sees a folder without it.
const (
	profilePrefix = "pagetools-profile-"
	lockSuffix    = ".lock"
)

// profile is a folder of our own for one browser: its user data, its HOME and
// its TMPDIR. Its lock is held as long as this process lives; the kernel
// gives it up when the process is killed.
type profile struct {
	dir  string   // "" before it is made
	base *os.Root // where it is
	lock *os.File
}

// tmpName is the TMPDIR in a profile. It is short because of maxBase.
const tmpName = "t"

// filesName is the folder in a profile for what pages save.
const filesName = "f"

// maxSocketPath returns how long the path of a socket may be. On Windows, where a browser makes
// none, it leaves room for what else a browser makes.
func maxSocketPath() int {
	switch runtime.GOOS {
	case "windows":
		return 240
	case "linux":
		return 107
	}
	return 103
}

// maxBase limits how long the path of the base folder may be: a browser does not
// start when the path of the socket that it makes in its TMPDIR is longer than
// what the address of a socket holds.
var maxBase = maxSocketPath() - len("/"+profilePrefix+"4294967295/"+tmpName+"/org.chromium.Chromium.XXXXXX/SingletonSocket")

// profileBase returns where profiles go: base when it is not empty, else the folder
// for temporary files, or /tmp where that one's path is too long.
func profileBase(base string) string {
	if base == "" {
		base = os.TempDir()
		if len(base) > maxBase && runtime.GOOS != "windows" {
			base = "/tmp"
		}
	}
	return base
}

// newProfile makes a folder in the base for profiles. Nobody else may read it.
func (o *Options) newProfile() (*profile, error) {
	base, err := filepath.Abs(profileBase(o.ProfileDir))
	if err != nil {
		return nil, fmt.Errorf("making a profile folder: %w", err)
	}
	if len(base) > maxBase {
		return nil, fmt.Errorf("making a profile folder: the path of %s is longer than %d bytes, with which no browser starts", base, maxBase)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, fmt.Errorf("making a profile folder: %w", err)
	}
	p := &profile{base: root}
	if err := errors.Join(o.room(base), p.make()); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// leastRoom sets how many bytes a browser needs for its profile. With fewer it starts all the same,
// and loses what it writes.
const leastRoom = 64 << 20

// room says when there is too little of it for a profile in the folder.
func (o *Options) room(dir string) error {
	if free := freeSpace(dir); free < leastRoom {
		return fmt.Errorf("%s has %d MB free, and the profile of a browser needs %d: make room, or "+
			"name a folder elsewhere, with TMPDIR or, for a profile of yours, %s", dir, free>>20, leastRoom>>20,
			o.Words.Of("UserDataDir"))
	}
	return nil
}

// make makes the lock and the folder, under a name that nobody else has.
func (p *profile) make() error {
	err := errTaken
	for range 100 {
		var number [4]byte
		_, _ = rand.Read(number[:]) // it never fails: it ends the program instead
		name := profilePrefix + strconv.FormatUint(uint64(binary.NativeEndian.Uint32(number[:])), 10)
		if err = p.take(name); !errors.Is(err, errTaken) && !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	for _, sub := range []string{"data", "home", tmpName, filesName} {
		if err == nil {
			err = os.Mkdir(filepath.Join(p.dir, sub), 0o700)
		}
	}
	if err != nil {
		return fmt.Errorf("making a profile folder: %w", err)
	}
	return nil
}

// errTaken: a janitor looks at the lock, or took it away, before it was locked.
var errTaken = errors.New("its lock is taken")

// take makes the lock of a name, and the folder.
func (p *profile) take(name string) error {
	lock, err := p.base.OpenFile(name+lockSuffix, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	switch err = files.TryLock(lock); {
	case errors.Is(err, files.ErrLocked), err == nil && !isNamed(p.base, lock, name+lockSuffix):
		err = errTaken
	case err == nil:
		if err = p.base.Mkdir(name, 0o700); err == nil {
			p.dir, p.lock = filepath.Join(p.base.Name(), name), lock
			return nil
		}
		err = errors.Join(err, files.RemoveIn(p.base, name+lockSuffix))
	}
	return errors.Join(err, lock.Close())
}

// isNamed reports whether an open file has a name now, and not a link, which may lead to what is
// somebody else's.
func isNamed(root *os.Root, f *os.File, name string) bool {
	named, err := root.Lstat(name)
	if err != nil {
		return false
	}
	opened, err := f.Stat()
	return err == nil && os.SameFile(named, opened)
}

func (p *profile) data() string { return filepath.Join(p.dir, "data") }

// env returns the environment of the browser, which writes nowhere outside its folder.
func (p *profile) env(headful bool) []string {
	home, tmp := filepath.Join(p.dir, "home"), filepath.Join(p.dir, tmpName)
	return append(passedOn(os.Environ(), runtime.GOOS == "windows", headful),
		"HOME="+home, "TMPDIR="+tmp, "TEMP="+tmp, "TMP="+tmp, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
}

// remove deletes the folder and its lock. Processes of a browser that just died may still
// write into the folder, so it tries for a while.
func (p *profile) remove() error {
	var err error
	if p.dir != "" {
		if err = removeAll(p.dir); err == nil { // else it needs its lock, for a later Clean
			err = files.RemoveIn(p.base, filepath.Base(p.dir)+lockSuffix)
		}
		if errors.Is(err, fs.ErrNotExist) { // a janitor of the system removes what is old
			err = nil
		}
		err = errors.Join(err, p.lock.Close())
	}
	return errors.Join(err, p.base.Close())
}

// removeAll deletes a folder that processes may still be leaving.
func removeAll(dir string) error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		err := os.RemoveAll(dir)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Clean removes the profile folders of killed predecessors from base (empty means
// where they go by default), and the processes that still use them. It leaves
// alone what a living process holds and what is not ours.
func Clean(base string) error {
	base, err := filepath.Abs(profileBase(base))
	if err != nil {
		return fmt.Errorf("looking for left profile folders: %w", err)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return fmt.Errorf("looking for left profile folders: %w", err)
	}
	defer func() { _ = root.Close() }()
	entries, err := os.ReadDir(base)
	if err != nil {
		return fmt.Errorf("looking for left profile folders: %w", err)
	}
	var all error
	for _, e := range entries {
		name, ours := strings.CutSuffix(e.Name(), lockSuffix)
		if ours && strings.HasPrefix(name, profilePrefix) && e.Type().IsRegular() {
			all = errors.Join(all, clean(root, name))
		}
	}
	return all
}

// clean removes a folder and its lock when both are this user's, and nobody holds the lock.
func clean(root *os.Root, name string) error {
	lockName, dir := name+lockSuffix, filepath.Join(root.Name(), name)
	if !files.Mine(filepath.Join(root.Name(), lockName)) {
		return nil
	}
	lock, err := root.OpenFile(lockName, os.O_RDWR, 0)
	if err != nil {
		return nil // somebody else removed it
	}
	defer lock.Close()
	if files.TryLock(lock) != nil || !isNamed(root, lock, lockName) {
		return nil
	}
	switch info, err := root.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist): // it was about to be made, or is removed
	case err != nil || !info.IsDir() || !files.Mine(dir):
		return nil
	default:
		killUsers(filepath.Join(dir, "data"))
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	return files.RemoveIn(root, lockName)
}
