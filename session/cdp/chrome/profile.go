package chrome

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
)

// Names of profile folders. A folder is made under the first name, and gets the
// second when its lock is held, so that no janitor sees it without.
const (
	newPrefix     = "pagetools-new-"
	profilePrefix = "pagetools-profile-"
	lockName      = "pagetools.lock"
)

// staleNew is how old an unfinished folder must be before a janitor takes it.
const staleNew = time.Hour

// profile is a folder of our own for one browser: its user data, its HOME and
// its TMPDIR. The lock in it is held as long as this process lives; the kernel
// gives it up when the process is killed.
type profile struct {
	dir  string
	lock *os.File
}

// tmpName is the TMPDIR in a profile. It is short because of maxBase.
const tmpName = "t"

// maxBase is how long the path of the base folder may be: a browser does not
// start when the path of the socket that it makes in its TMPDIR is longer than
// what the address of a socket holds.
const maxBase = maxSocketPath - len("/"+profilePrefix+"4294967295/"+tmpName+"/org.chromium.Chromium.XXXXXX/SingletonSocket")

// profileBase returns where profiles go: base when it is not empty, else the folder
// for temporary files, or /tmp where that one's path is too long.
func profileBase(base string) string {
	if base == "" {
		base = os.TempDir()
		if len(base) > maxBase {
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
	dir, err := os.MkdirTemp(base, newPrefix)
	if err != nil {
		return nil, fmt.Errorf("making a profile folder: %w", err)
	}
	p := &profile{dir: dir}
	if err := errors.Join(o.room(base), p.own(base)); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// leastRoom is how many bytes a browser needs for its profile. With fewer it starts all the same,
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

func (p *profile) own(base string) error {
	var err error
	if p.lock, err = os.OpenFile(filepath.Join(p.dir, lockName), os.O_CREATE|os.O_EXCL|os.O_RDWR,
		0o600); err != nil {
		return fmt.Errorf("locking a profile folder: %w", err)
	}
	if err := files.TryLock(p.lock); err != nil {
		return fmt.Errorf("locking a profile folder: %w", err)
	}
	for _, sub := range []string{"data", "home", tmpName} {
		if err := os.Mkdir(filepath.Join(p.dir, sub), 0o700); err != nil {
			return fmt.Errorf("making a profile folder: %w", err)
		}
	}
	name := strings.TrimPrefix(filepath.Base(p.dir), newPrefix)
	final := filepath.Join(base, profilePrefix+name)
	if err := os.Rename(p.dir, final); err != nil {
		return fmt.Errorf("making a profile folder: %w", err)
	}
	p.dir = final
	return nil
}

func (p *profile) data() string { return filepath.Join(p.dir, "data") }

// env returns the environment of the browser, which writes nowhere outside its folder.
func (p *profile) env(headful bool) []string {
	home, tmp := filepath.Join(p.dir, "home"), filepath.Join(p.dir, tmpName)
	return append(passedOn(os.Environ(), runtime.GOOS == "windows", headful),
		"HOME="+home, "TMPDIR="+tmp, "TEMP="+tmp, "TMP="+tmp, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
}

// remove deletes the folder. Processes of a browser that just died may still
// write into it, so it tries for a while.
func (p *profile) remove() error {
	err := removeAll(p.dir)
	if p.lock != nil {
		err = errors.Join(err, p.lock.Close())
	}
	return err
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
	entries, err := os.ReadDir(base)
	if err != nil {
		return fmt.Errorf("looking for left profile folders: %w", err)
	}
	var all error
	for _, e := range entries {
		dir := filepath.Join(base, e.Name())
		switch {
		case !e.IsDir() || !mine(e):
		case strings.HasPrefix(e.Name(), profilePrefix) && abandoned(dir):
			killUsers(filepath.Join(dir, "data"))
			all = errors.Join(all, removeAll(dir))
		case strings.HasPrefix(e.Name(), newPrefix) && old(e):
			all = errors.Join(all, removeAll(dir))
		}
	}
	return all
}

func old(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > staleNew
}

// abandoned reports whether the folder has our lock file and nobody holds it.
func abandoned(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|noFollow, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return files.TryLock(f) == nil
}
