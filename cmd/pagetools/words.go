package main

import "github.com/pagetools/pagetools/bridge/text"

// optionWords has the flags and commands that messages from below mean: nothing below knows their
// names. A test of e2e/suite/docs checks that each key is in the code, with the same verbs.
var optionWords = text.Words{ //nolint:gosec // it names where secrets are, and has none
	// options of Go
	"Args": "--chrome-arg", "Headful": "--headless=false", "Hosts": "--allow-host",
	"Kind": "--browser", "PublicURL": "--public-url", "Listen": "--listen", "Origins": "--cors", "Path": "--executable-path",
	"Private": "--allow-private", "ProxyServer": "--proxy-server", "UserDataDir": "--user-data-dir",
	"Callers":  "a token, such as in PAGETOOLS_TOKEN, or callers in the configuration file",
	"Verifier": "--sign-in, for clients that people let in",
	"a token":  "a token, such as in PAGETOOLS_TOKEN",

	// browsers
	"use a newer one, or the engine shim": "use a newer one (one that you start yourself needs " +
		"--enable-features=WebMCP), or the engine shim",

	"Dir names the profile folder of another browser": "--user-data-dir names the profile folder of another browser",

	// pages
	"the adapter builtin:page-servers adds its tools": "--adapter builtin:page-servers adds its tools",

	// what pages reach
	"allow the origin http://%s, or its network": "allow it with --allow-origin http://%s, " +
		"or its network with --allow-private",
	"allow the network %s/%d": "allow it with --allow-private %s/%d",
	"allow the origin %s":     "allow it with --allow-origin %s",
	"allow that origin":       "allow it with --allow-origin",

	// who may call
	"the operator ends it, or it was not used for 30 days": "you end it with `pagetools pair --revoke`, or it was " +
		"not used for 30 days",
	"The operator of this server has a code for you.": "Run `pagetools pair` on the machine where pagetools runs: " +
		"it shows a code.",
	"Type the code that the operator of this server has for you.": "Type the code that `pagetools pair` shows.",
	"The Host %q is not served here.":                             "The Host %q is not served here; --allow-host adds a name.",
	"Pages of the origin %q may not call pagetools.": "Pages of the origin %q may not call " +
		"pagetools; --cors allows an origin.",
	"no callers are configured": "no callers are configured: --token, or callers in the " +
		"configuration file, ask for one",
	"This link was used, or it is older than a minute.": "This link was used, or it is older than " +
		"a minute. Run pagetools console for another one.",

	// logins
	": ": ": run ", "log in to %s with %s%s%s": "`pagetools auth login %s --scheme %s%s%s`",
	" for %s": " --scopes %s", " as %s": " --caller %s",
	"log in another way":    "log in without --device",
	"client ID":             "--client-id ID",
	"its ID and its secret": "--client-id ID and --client-secret-file FILE",

	// the test kit
	"name the app": "name the app with --url or --dir",
	"name %s if you trust it": "if you trust it, name it: pagetools test %s, or take all files of the " +
		"folder with --trust",
	"write replay in the place of record": "record it with pagetools test, and write replay in the place of record",
	"lock: %w":                            "lock: %w; `pagetools lock` writes it",
	"; at least %g %% must be":            "; --min-coverage asks for %g %%",
	"restore it, or write it anew":        "restore it, or write it anew with --update",
	"Wait for a tool that comes late, or open the page where they are registered.": "--wait-for tool:NAME waits " +
		"for one that comes late; or open the page where they are registered.",
	"Since the lock file: %s; %s (%s).": "Since the lock file: %s; %s (%s). Run pagetools lock if it is meant.",
}
