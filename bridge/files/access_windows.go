package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// MakePrivate makes a folder that only this user and the system can use, and those above it. One
// that is there stays as it is.
func MakePrivate(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	me, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	sd, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;" + me.User.Sid.String() +
		")(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)") // and nothing of the folder above
	if err != nil {
		return err
	}
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	sa := windows.SecurityAttributes{SecurityDescriptor: sd}
	sa.Length = uint32(unsafe.Sizeof(sa))
	if err := windows.CreateDirectory(path, &sa); err != nil {
		if info, e := os.Stat(dir); e == nil && info.IsDir() {
			return nil
		}
		return &os.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	return nil
}

// groups has the groups of other users of this machine.
var groups = []windows.WELL_KNOWN_SID_TYPE{windows.WinWorldSid, windows.WinAuthenticatedUserSid,
	windows.WinBuiltinUsersSid, windows.WinBuiltinGuestsSid, windows.WinInteractiveSid,
	windows.WinNetworkSid, windows.WinAnonymousSid}

// What an entry of an access list may allow.
const (
	readMask  = windows.FILE_READ_DATA | windows.GENERIC_READ | windows.GENERIC_ALL
	writeMask = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | 0x40 /* FILE_DELETE_CHILD */ | windows.DELETE |
		windows.WRITE_DAC | windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL
)

// Writers says why another user can write to a file or a folder, such as "can be written by
// Everyone". It returns "" where only this one and the system's own can.
func Writers(path string) (string, error) {
	sd, err := access(path)
	if err != nil {
		return "", err
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return "", fmt.Errorf("reading who owns %s: %w", path, err)
	}
	if !isMe(owner) && !owner.IsWellKnown(windows.WinLocalSystemSid) &&
		!owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) {
		return "belongs to " + account(owner), nil
	}
	if who, err := allowed(sd, writeMask); who != "" || err != nil {
		return "can be written by " + who, err
	}
	return "", nil
}

// access returns the owner and the access list of a file.
func access(path string) (*windows.SECURITY_DESCRIPTOR, error) {
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return nil, &os.PathError{Op: "reading who may use", Path: path, Err: err}
	}
	return sd, nil
}

// allowed names a group of others that the access list allows any of this, or returns "".
func allowed(sd *windows.SECURITY_DESCRIPTOR, mask windows.ACCESS_MASK) (string, error) {
	list, _, err := sd.DACL()
	if errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) || err == nil && list == nil {
		return "everybody", nil // there is no list
	}
	if err != nil {
		return "", err
	}
	for i := range list.AceCount {
		var entry *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, uint32(i), &entry); err != nil {
			return "", err
		}
		if entry.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE || entry.Mask&mask == 0 {
			continue
		}
		who := (*windows.SID)(unsafe.Pointer(&entry.SidStart)) // it lies in the entry
		for _, g := range groups {
			if who.IsWellKnown(g) {
				return account(who), nil
			}
		}
	}
	return "", nil
}

func isMe(sid *windows.SID) bool {
	me, err := windows.GetCurrentProcessToken().GetTokenUser()
	return err == nil && sid.Equals(me.User.Sid)
}

// account names a user or a group.
func account(sid *windows.SID) string {
	name, _, _, err := sid.LookupAccount("")
	if err != nil {
		return sid.String()
	}
	return name
}

// Mine reports whether a file or a folder belongs to this user. What an elevated process makes
// belongs to the administrators.
func Mine(path string) bool {
	sd, err := access(path)
	if err != nil {
		return false
	}
	owner, _, err := sd.Owner()
	return err == nil && (isMe(owner) || owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) &&
		windows.GetCurrentProcessToken().IsElevated())
}

// Shared reports whether other users than this one and the system can read or write a file. One
// whose access list cannot be read counts as shared.
func Shared(path string, _ fs.FileInfo) bool {
	sd, err := access(path)
	if err != nil {
		return true
	}
	who, err := allowed(sd, readMask|writeMask)
	return who != "" || err != nil
}

// ToClose says how a person takes a file away from others.
func ToClose(path string) string {
	return fmt.Sprintf("type icacls %q /inheritance:r /grant:r \"%%USERNAME%%:F\"", path)
}

// IsFull reports whether something could not be written because there is no room.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// IsReadOnly reports whether something could not be written because nothing can be there.
func IsReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

// patiently does something again, for at most two seconds, that fails as long as another program
// has the file open: one that reads it, or one that looks for viruses.
func patiently(do func() error) error {
	for end := time.Now().Add(2 * time.Second); ; <-time.After(5 * time.Millisecond) {
		err := do()
		busy := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !busy || time.Now().After(end) {
			return err
		}
	}
}
