package app

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"
)

// serveFolder serves files on a loopback port of its own until stop is called.
// It answers only to loopback names, so that no other site can read the files
// through a name that it controls.
func serveFolder(ctx context.Context, files fs.FS) (address string, stop func() error, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serving the folder: %w", err)
	}
	own := l.Addr().String()
	inner := http.FileServerFS(files)
	srv := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Host != own {
				http.Error(w, "unknown host", http.StatusForbidden)
				return
			}
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			inner.ServeHTTP(w, r)
		}),
	}
	go func() { _ = srv.Serve(l) }() // ends with Close
	return "http://" + own + "/", srv.Close, nil
}
