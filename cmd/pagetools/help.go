package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// verbHelp holds what the help of a command has besides what cobra knows.
type verbHelp struct {
	groups  string // of the common flags, in their order
	example string
}

// groupNames are the headings of common flags.
var groupNames = map[string]string{"browser": "Browser", "pages": "Pages",
	"consent": "Consent and questions", "serving": "Serving", "records": "Records",
	"output": "Settings and output"}

// Sets of groups.
const (
	ofAll  = "serving pages consent browser records output"
	ofPage = "pages consent browser records output"
	ofKept = "records output"
)

// help has every command by its path below pagetools.
var help = map[string]verbHelp{
	"": {ofAll, `pagetools demo
pagetools tools https://shop.example/
pagetools serve shop=https://shop.example/`},
	"serve": {ofAll, `pagetools serve https://shop.example/
pagetools serve shop=https://shop.example/ docs=./site --approval strict
pagetools serve --config pagetools.yaml --locked --watch
pagetools serve https://shop.example/ --adapter shop.js
pagetools serve https://shop.example/ --public-url https://tools.example --sign-in
pagetools serve --config pagetools.yaml --cluster nats://10.0.0.5:4222 --cluster-key-file cluster.key --peer-listen 10.0.0.11:7302`},
	"mcp": {ofPage + " serving", `pagetools mcp https://shop.example/
pagetools config claude-code https://shop.example/ --install`},
	"tools": {ofPage, `pagetools tools https://shop.example/
pagetools tools ./site --format json`},
	"check": {ofPage, `pagetools check ./site
pagetools check https://shop.example/ --fail-on warning --reporter list,junit:out.xml
pagetools check --from tools.json --host all
pagetools check ./site --client all --reporter list,sarif:out.sarif
pagetools check --adapter shop.js
pagetools check --explain description-injection`},
	"test": {ofPage, `pagetools test
pagetools test ./webtools --via mcp --reporter list,junit:out.xml
pagetools test shop.webtool.yaml --run 'buys' --update
pagetools test --serve "npm start" --url http://127.0.0.1:3000/`},
	"diff": {ofPage, `pagetools diff old.lock pagetools.lock
pagetools diff pagetools.lock https://shop.example/ --fail-on any
pagetools diff --base origin/main`},
	"init": {ofPage, `pagetools init ./site
pagetools init https://shop.example/ --force
pagetools init https://shop.example/ --adapter shop`},
	"record": {ofAll, `pagetools record ./site --mcp stdio -o shop.webtool.yaml
pagetools record https://shop.example/ --mcp 127.0.0.1:7400 --case "buys a stamp"`},
	"attach": {ofPage, `pagetools attach https://shop.example/
pagetools attach https://api.shop.example/openapi.json --expose safe`},
	"call": {ofPage, `pagetools call https://shop.example/ search query=rye
pagetools call https://shop.example/ order --input '{"items":[{"id":1}]}'
pagetools call ./site add-stamp --input @stamp.json --approval auto`},
	"auth": {"pages records output", `pagetools auth login https://shop.example/
pagetools auth status`},
	"auth login": {"pages records output", `pagetools auth login https://shop.example/
pagetools auth login shop --config pagetools.yaml --scheme account --device
pagetools auth login https://shop.example/ --scheme key < key.txt`},
	"auth logout": {"pages records output", `pagetools auth logout https://shop.example/`},
	"auth status": {"pages records output", `pagetools auth status
pagetools auth status https://shop.example/ --format json`},
	"login": {"browser pages output", `pagetools login https://shop.example/ --save-storage-state work.json`},
	"demo":  {ofAll, `pagetools demo`},
	"approve": {ofKept, `pagetools approve
pagetools approve ID
pagetools approve --list`},
	"pair": {ofKept, `pagetools pair
pagetools pair ann
pagetools pair --list
pagetools pair --revoke ID`},
	"console": {ofKept, `pagetools console`},
	"reload":  {ofKept, `pagetools reload`},
	"audit":   {ofKept, `pagetools audit verify`},
	"audit list": {ofKept, `pagetools audit list --site shop --limit 20
pagetools audit list --outcome unknown --format json`},
	"audit verify": {ofKept, `pagetools audit verify --format json`},
	"log": {ofKept, `pagetools log --follow
pagetools log --site shop --outcome failed
pagetools log --cluster`},
	"lock": {"browser pages output", `pagetools lock https://shop.example/
pagetools lock --check`},
	"doctor": {ofPage, `pagetools doctor
pagetools doctor https://shop.example/
pagetools doctor https://shop.example/ --client claude-code,vscode`},
	"config": {ofAll, `pagetools config print
pagetools config schema
pagetools config cursor https://shop.example/ --install
pagetools config claude-code https://shop.example/ --via npx`},
	"version": {"output", `pagetools version --format json`},
	"cluster": {"", `(umask 077; pagetools cluster key > cluster.key)
pagetools cluster status
pagetools cluster drain a --wait`},
	"cluster status": {"serving " + ofKept, `pagetools cluster status
pagetools cluster status --cluster nats://10.0.0.5:4222 --json`},
	"cluster drain": {"serving " + ofKept, `pagetools cluster drain a --wait
pagetools cluster drain a --cluster nats://10.0.0.5:4222 --cluster-key-file cluster.key`},
	"egress":                {"serving browser output", `pagetools egress --egress-listen 127.0.0.1:7305 --cluster-key-file cluster.key`},
	"cluster key":           {"", `(umask 077; pagetools cluster key > cluster.key)`},
	"completion":            {"", `pagetools completion bash`},
	"completion bash":       {"", `source <(pagetools completion bash)`},
	"completion zsh":        {"", `pagetools completion zsh > "${fpath[1]}/_pagetools"`},
	"completion fish":       {"", `pagetools completion fish > ~/.config/fish/completions/pagetools.fish`},
	"completion powershell": {"", `pagetools completion powershell | Out-String | Invoke-Expression`},
}

// needsNoSettings reports whether a command is about the command line itself: it works
// whatever the settings are.
func needsNoSettings(c *cobra.Command) bool {
	for ; c.HasParent(); c = c.Parent() {
		if slices.Contains([]string{"completion", "help", cobra.ShellCompRequestCmd,
			cobra.ShellCompNoDescRequestCmd}, c.Name()) {
			return true
		}
	}
	return false
}

// withHelp completes the help of a command and those below it.
func withHelp(root *cobra.Command) {
	root.InitDefaultCompletionCmd(root.Name())
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
				if len(args) > 0 {
					return terminal.Usage("completion takes bash, zsh, fish or powershell, not %q",
						text.Line(args[0]))
				}
				return c.Help()
			}
		}
	}
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Help about a command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(c.Root(), strings.Join(args, " "))
			}
			return about.Help()
		}})
	root.SetUsageFunc(func(c *cobra.Command) error {
		_, err := fmt.Fprint(c.OutOrStderr(), usageOf(c))
		return err
	})
	var complete func(c *cobra.Command)
	complete = func(c *cobra.Command) {
		c.Example = "  " + strings.ReplaceAll(help[pathOf(c)].example, "\n", "\n  ")
		for _, below := range c.Commands() {
			complete(below)
		}
	}
	complete(root)
}

func pathOf(c *cobra.Command) string {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	return path
}

// usageOf returns the second half of a help: everything after what the command is.
func usageOf(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
	if c.HasAvailableSubCommands() {
		fmt.Fprint(&b, "\nAvailable Commands:\n")
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s %s\n", below.NamePadding(), below.Name(), below.Short)
			}
		}
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	c.InheritedFlags() // which adds them to those of the command
	sets := map[string]*pflag.FlagSet{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		group := ""
		if of := f.Annotations[config.Group]; len(of) > 0 {
			group = of[0]
		}
		if sets[group] == nil {
			sets[group] = pflag.NewFlagSet(group, pflag.ContinueOnError)
			sets[group].SortFlags = false
		}
		sets[group].AddFlag(f)
	})
	title := "Flags"
	for _, group := range append([]string{""}, strings.Fields(help[pathOf(c)].groups)...) {
		if set := sets[group]; set != nil {
			fmt.Fprintf(&b, "\n%s:\n%s", title+groupNames[group], set.FlagUsagesWrapped(100))
		}
		title = ""
	}
	if c.HasParent() && len(sets) > 1 {
		fmt.Fprint(&b, "\nEvery flag is also a variable PAGETOOLS_NAME and a key of a configuration "+
			"file.\npagetools --help lists those of all commands.\n")
	}
	return b.String()
}
