package main

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/session/egress"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// egressOptions reads where browsers that run elsewhere reach the proxy of their pages; nil leaves their
// pages to them. yields is as there. What the environment says is for other runs, too.
func egressOptions(c *config.Config, yields bool) (*egress.Options, error) {
	o := &egress.Options{Listen: c.EgressListen, Address: c.EgressAddress, Yields: yields}
	for _, name := range []string{"egress-listen", "egress-address"} {
		if c.IsRemote() && !c.AutoConnect || c.IsDefault(name) {
			continue
		}
		if c.From(name) != "environment" {
			return nil, terminal.Usage("--%s is for browsers that run elsewhere: name them with browsers in the file, --browser-url or --ws-endpoint", name)
		}
		o.Listen, o.Address = "", ""
	}
	if o.Listen+o.Address == "" {
		return nil, nil //nolint:nilnil // their ways are their own
	}
	if err := isReached(o); err != nil {
		return nil, err
	}
	if c.ClusterKeyFile == "" && o.Listen == "" {
		return nil, terminal.Usage("--egress-address without --egress-listen is that of a `pagetools egress`, which needs the key that seals " +
			"what pages may reach: give --cluster-key-file to both")
	}
	return o, sealed(o, c)
}

// isReached refuses addresses under which no browser reaches the proxy.
func isReached(o *egress.Options) error {
	for name, address := range map[string]string{"egress-listen": o.Listen, "egress-address": o.Address} {
		if _, port, err := net.SplitHostPort(address); address != "" && (err != nil || port == "") {
			return terminal.Usage("invalid value %q for --%s: must be host:port, such as 10.0.0.11:7305", text.Line(address), name)
		}
	}
	host, _, _ := net.SplitHostPort(o.Listen)
	if ip := net.ParseIP(host); o.Listen != "" && o.Address == "" && (host == "" || ip != nil && ip.IsUnspecified()) {
		return terminal.Usage("--egress-listen %s is every address of this machine: --egress-address HOST:PORT says under which one browsers reach it", text.Line(o.Listen))
	}
	return nil
}

// sealed adds the keys that seal passwords, where there is a key.
func sealed(o *egress.Options, c *config.Config) error {
	if c.ClusterKeyFile == "" {
		return nil
	}
	keys, err := clusterKeys(c)
	if err != nil {
		return err
	}
	for _, k := range keys.All() {
		o.Keys = append(o.Keys, k.Subkey(key.Egress))
	}
	return nil
}

func egressCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "egress",
		Short: "Let the pages of browsers elsewhere into the network, beside these browsers",
		Long: "Runs the proxy through which pages of browsers elsewhere reach the network, alone: on the machine of the browsers, or where they reach it.\n" +
			"It serves pages that a pagetools serve with the same --cluster-key-file has opened, each as far as that lets it, and nobody else.\n" +
			"There, --egress-address names this proxy. The address is told to pages for as long as they live.",
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return letOut(cmd.Context(), p) },
	}
}

// letOut serves pages of other processes until ctx ends.
func letOut(ctx context.Context, p *program) error {
	c := p.conf
	switch {
	case c.EgressListen == "":
		return terminal.Usage("egress needs --egress-listen, the address at which browsers reach it, such as 127.0.0.1:7305")
	case c.ClusterKeyFile == "":
		return terminal.Usage("egress needs --cluster-key-file: the file with the secret that `serve` has, too, which `(umask 077; pagetools cluster key > cluster.key)` makes")
	}
	up, err := upstream(c)
	if err != nil {
		return err
	}
	o := egress.Options{Listen: c.EgressListen, Upstream: up, Words: optionWords, Log: p.log}
	if err := sealed(&o, c); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return isReached(&o)
	}
	proxy, err := egress.Start(ctx, o)
	if err != nil {
		return cannotListen("--egress-listen", c.EgressListen, err)
	}
	defer func() { _ = proxy.Close() }() // its connections have no more readers
	if c.Format != "text" {
		err = terminal.Encode(p.stdout, map[string]string{"listening": proxy.Address()})
	} else {
		_, err = fmt.Fprintf(p.stdout, "pagetools lets pages out at %s\n", proxy.Address())
	}
	if err == nil {
		<-ctx.Done()
	}
	return err
}
