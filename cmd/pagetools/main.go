// Command pagetools offers the tools that web pages declare through WebMCP to any
// agent. See the README, or `pagetools --help`.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
