package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write a man page for each command into a folder",
		Args:  exactly(1, "DIR"),
		RunE:  func(cmd *cobra.Command, args []string) error { return writeMan(cmd.Root(), args[0]) },
	}
}

// writeMan writes the pages. The folder is made when it is missing.
func writeMan(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // everybody reads man pages
		return usage("making the folder of the man pages: %w", err)
	}
	root.DisableAutoGenTag = true
	date := time.Unix(0, 0).UTC() // the same binary writes the same pages
	header := &doc.GenManHeader{Title: "PAGETOOLS", Section: "1", Source: "pagetools", Date: &date}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return usage("writing the man pages: %w", err)
	}
	return nil
}
