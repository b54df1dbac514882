package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestServe serves on a loopback address until its context ends, and on no other.
func TestServe(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-listen", "0.0.0.0:0"}, {"-listen", "nowhere"}, {"-listen", ":0"}, {"more"}} {
		if err := serve(t.Context(), args, io.Discard); err == nil || !strings.HasPrefix(err.Error(), "invalid ") {
			t.Errorf("%q: %v", args, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, []string{"-listen", "127.0.0.1:0"}, write) }()
	var said bytes.Buffer
	if _, err := io.CopyN(&said, read, 40); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, read) }() // the rest of the line; ends with write
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(said.String())
	res, err := http.Get(url)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%q: %v %v", said.String(), res, err)
	}
	if err == nil {
		_ = res.Body.Close()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = write.Close()
}
