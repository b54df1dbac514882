package proctree_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pagetools/pagetools/session/cdp/chrome/proctree"
)

// roleVariable makes this binary a parent that starts a child, or a child that echoes.
const roleVariable, addressVariable = "PAGETOOLS_TEST_TREE", "PAGETOOLS_TEST_ADDRESS"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "parent":
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), roleVariable+"=child")
		_ = c.Run() // it ends with the tree
		os.Exit(0)
	case "child":
		if conn, err := net.Dial("tcp", os.Getenv(addressVariable)); err == nil {
			_, _ = io.Copy(conn, conn)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestTree: a child that its parent left behind lives until the tree is killed.
func TestTree(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), roleVariable+"=parent", addressVariable+"="+l.Addr().String())
	tree := proctree.New(parent, false)
	tree.Kill() // of what was not started
	parent = exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), roleVariable+"=parent", addressVariable+"="+l.Addr().String())
	tree = proctree.New(parent, false)
	if err := tree.Start(); err != nil {
		t.Fatal(err)
	}
	defer tree.Kill()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute))
	child, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	_ = child.SetDeadline(time.Now().Add(time.Minute))
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if _, err := child.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := child.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatalf("the control: the child does not outlive its parent: %v", err)
	}
	tree.Kill()
	if n, err := child.Read(make([]byte, 1)); n != 0 || os.IsTimeout(err) {
		t.Errorf("the child lives: %v", err)
	}
	tree.Kill() // again
}
