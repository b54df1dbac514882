package app

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/session/pageconfig"
)

// serveFolder serves files on a loopback port of its own until stop is called. It answers
// only to loopback names, so that no other site can read the files through a name that it
// controls, and only with the cookie pass, so that no other user of this machine can. Pages
// get the cookie with their browser context; no script sees it.
func serveFolder(ctx context.Context, files fs.FS) (address string, pass *pageconfig.Cookie,
	stop func() error, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, nil, fmt.Errorf("serving the folder: %w", err)
	}
	own := l.Addr().String()
	_, port, _ := net.SplitHostPort(own)
	secret := rand.Text()
	// Cookies do not know ports: folders of one profile must not overwrite each other's.
	pass = &pageconfig.Cookie{Name: "pagetools-" + port, Value: pageconfig.Secret(secret),
		HTTPOnly: true, SameSite: "Lax"}
	inner := http.FileServerFS(visible{files})
	srv := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			shown, err := r.Cookie(pass.Name)
			switch {
			case r.Host != own:
				http.Error(w, "unknown host", http.StatusForbidden)
				return
			case err != nil || subtle.ConstantTimeCompare([]byte(shown.Value), []byte(secret)) == 0:
				http.Error(w, "only the browser of this pagetools can read the folder",
					http.StatusForbidden)
				return
			}
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			inner.ServeHTTP(w, r)
		}),
	}
	go func() { _ = srv.Serve(l) }() // ends with Close
	return "http://" + own + "/", pass, srv.Close, nil
}

// visible are the files of a folder that are meant to be seen: none whose name, or whose
// folder's name, begins with a dot, such as .git and .env, and no lists of files.
type visible struct{ fs.FS }

// Open implements fs.FS.
func (v visible) Open(name string) (fs.File, error) {
	hidden := func(part string) bool { return part != "." && strings.HasPrefix(part, ".") }
	if slices.ContainsFunc(strings.Split(name, "/"), hidden) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := v.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		if _, err := fs.Stat(v.FS, path.Join(name, "index.html")); err != nil {
			_ = f.Close()
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
	}
	return f, nil
}
