package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

func clusterCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Several nodes that serve the same sites",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return terminal.Usage("cluster needs drain, key or status; see pagetools cluster --help")
		},
		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(&cobra.Command{
		Use:   "key",
		Short: "Print a new key for a cluster, the secret that all of its nodes have in a file",
		Long: "Prints a new key: 32 random bytes as 43 characters of base64url. It is the secret of a cluster: " +
			"whoever has it is a node.\nKeep it in a file that only the user of pagetools can read, with the same content on each machine.",
		Args: exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.stdout, key.New().Text())
			return err
		},
	})
	c.AddCommand(clusterStatusCommand(p), clusterDrainCommand(p))
	return c
}
