// Package hosts knows what programs that show a page's tools to models make of them: how many
// they take, how long a name may be, and what they do with a page that goes over.
//
// Each host is one dated file of YAML with its sources; [Load] returns those that are embedded,
// changed and extended by files of a user. [Matrix] holds the tools of a page against hosts, and
// [Table.Findings] returns what its author should know.
//
//	set, err := hosts.Load()
//	chatgpt, err := set.Get("chatgpt")
//	table := hosts.Matrix(page.Tools, hosts.Facts(page), []hosts.Host{chatgpt})
//	fmt.Print(table.Text())
//
// Clients of MCP get a list of ours instead: [Set.Client] returns the rules of one, each with a
// public source, and [Client.Judge] holds a tool of that list against them. Limits come from the
// hosts' files, and what a schema may have is a
// [github.com/pagetools/pagetools/bridge/schema.Subset].
//
// Tools are judged as they were declared by [Matrix]. A bridge between page and host may rename
// them or rewrite their schemas; that is not looked at here.
package hosts
