package bridge

import (
	"cmp"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Limits bounds what strangers can make us hold or do. A zero field means the
// default of the contract's section "Limits", given with each field.
type Limits struct {
	Tools        int           // 256 tools per document, the first registered
	Name         int           // 128 characters
	Description  int           // 16 KiB
	Schema       schema.Limits // 64 KiB, depth 32, 2,000 subschemas, 10,000 expansions, pattern 512
	Arguments    int           // 256 KiB
	Result       int           // 1 MiB
	CallTimeout  time.Duration // 30 s
	MaxTimeout   time.Duration // 300 s
	AsyncTimeout time.Duration // 15 min, of a detached call
	ErrorMessage int           // 4 KiB of a page's own error text
	Question     time.Duration // 5 min, until a question counts as declined

	// What strangers make us hold, in bytes, counted when it is taken.
	PageBytes    int64 // 8 MiB of declarations a page
	HistoryBytes int64 // 16 MiB of a webtool's versions, where they are nowhere else
	CallerBytes  int64 // 32 MiB of a caller's waiting calls and kept replies
	TotalBytes   int64 // 256 MiB of all of these
	// What pages save in calls: how many files a call (4), how many bytes a file (16 MiB), and of
	// all those that are kept for a caller (32 MiB), which are counted in TotalBytes, too.
	Files                  int
	FileBytes, CallerFiles int64
	// Subschemas of all schemas of a page: compiling one takes some 30 µs. 50,000.
	Subschemas int
	// ForbidParams are names of arguments that no tool may declare, in which "*" stands for
	// any characters and case does not count: a tool that does is not offered.
	ForbidParams []string
}

// WithDefaults returns the limits with defaults in the place of zeros.
func (l Limits) WithDefaults() Limits {
	l.Tools = cmp.Or(l.Tools, 256)
	l.Name = cmp.Or(l.Name, 128)
	l.Description = cmp.Or(l.Description, 16<<10)
	l.Arguments = cmp.Or(l.Arguments, 256<<10)
	l.Result = cmp.Or(l.Result, 1<<20)
	l.CallTimeout = cmp.Or(l.CallTimeout, 30*time.Second)
	l.MaxTimeout = cmp.Or(l.MaxTimeout, 300*time.Second)
	l.AsyncTimeout = cmp.Or(l.AsyncTimeout, 15*time.Minute)
	l.ErrorMessage = cmp.Or(l.ErrorMessage, 4<<10)
	l.Question = cmp.Or(l.Question, 5*time.Minute)
	l.PageBytes = cmp.Or(l.PageBytes, 8<<20)
	l.HistoryBytes = cmp.Or(l.HistoryBytes, 16<<20)
	l.CallerBytes = cmp.Or(l.CallerBytes, 32<<20)
	l.TotalBytes = cmp.Or(l.TotalBytes, 256<<20)
	l.Files = cmp.Or(l.Files, 4)
	l.FileBytes = cmp.Or(l.FileBytes, 16<<20)
	l.CallerFiles = cmp.Or(l.CallerFiles, 32<<20)
	l.Subschemas = cmp.Or(l.Subschemas, 50_000)
	return l
}
