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
// Tools are judged as they were declared. A bridge between page and host may rename them or
// rewrite their schemas; that is not looked at here.
package hosts
