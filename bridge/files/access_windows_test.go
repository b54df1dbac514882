package files_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/pagetools/pagetools/bridge/files"
)

// TestPrivateFolder: a folder that we make is closed to others, and one that was opened to
// everybody is known.
func TestPrivateFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "private")
	for range 2 { // one that is there stays
		ok(t, files.MakePrivate(dir))
	}
	if why, err := files.Writers(dir); why != "" || err != nil {
		t.Errorf("it %s, %v", why, err)
	}
	if !files.Mine(dir) || files.Shared(dir, nil) {
		t.Error("it belongs to others, or they can read it")
	}
	sd, err := windows.SecurityDescriptorFromString("D:P(A;;FA;;;WD)")
	ok(t, err)
	list, _, err := sd.DACL()
	ok(t, err)
	ok(t, windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION, nil, nil, list, nil))
	if why, err := files.Writers(dir); !strings.HasPrefix(why, "can be written by") || err != nil {
		t.Errorf("open to everybody it %s, %v", why, err)
	}
	if !files.Shared(dir, nil) {
		t.Error("others cannot read what everybody can write")
	}
	if _, err := files.Writers(filepath.Join(dir, "none")); err == nil {
		t.Error("what is not there has an access list")
	}
}
