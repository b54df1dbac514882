// Command bundle writes js/dist. It is run by go generate ./js, in the js folder.
package main

import (
	"fmt"
	"os"

	"github.com/pagetools/pagetools/js/build"
)

func main() {
	for _, b := range build.Bundles {
		text, err := build.Make(".", b)
		if err == nil {
			err = os.WriteFile(b.Out, text, 0o644) //nolint:gosec // everybody may read what is committed
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
