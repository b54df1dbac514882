package bridge

import (
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
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
	ErrorMessage int           // 4 KiB of a page's own error text
	Question     time.Duration // 5 min, until a question counts as declined

	// What strangers make us hold, in bytes, counted when it is taken.
	PageBytes    int64 // 8 MiB of declarations a page
	HistoryBytes int64 // 16 MiB of a webtool's versions, where they are nowhere else
	CallerBytes  int64 // 32 MiB of a caller's waiting calls and kept replies
	TotalBytes   int64 // 256 MiB of all of these
	// Subschemas of all schemas of a page: compiling one takes some 30 µs. 50,000.
	Subschemas int
	// ForbidParams are names of arguments that no tool may declare, in which "*" stands for
	// any characters and case does not count: a tool that does is not offered.
	ForbidParams []string
}

// WithDefaults has the defaults in the place of zeros.
func (l Limits) WithDefaults() Limits {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&l.Tools, 256)
	def(&l.Name, 128)
	def(&l.Description, 16<<10)
	def(&l.Arguments, 256<<10)
	def(&l.Result, 1<<20)
	def(&l.ErrorMessage, 4<<10)
	def(&l.Subschemas, 50_000)
	bytes := func(p *int64, v int64) {
		if *p == 0 {
			*p = v << 20
		}
	}
	bytes(&l.PageBytes, 8)
	bytes(&l.HistoryBytes, 16)
	bytes(&l.CallerBytes, 32)
	bytes(&l.TotalBytes, 256)
	if l.CallTimeout == 0 {
		l.CallTimeout = 30 * time.Second
	}
	if l.Question == 0 {
		l.Question = 5 * time.Minute
	}
	if l.MaxTimeout == 0 {
		l.MaxTimeout = 300 * time.Second
	}
	return l
}

// tooMany has a sentence for each rate that can refuse a call.
var tooMany = map[policy.Limit]string{
	policy.LimitCaller: "You make too many calls.",
	policy.LimitSite:   "This webtool gets too many calls.",
	policy.LimitTool:   "This tool gets too many calls.",
}

// take takes one from each rate that counts, or refuses. Site and tool may be empty.
func (pl *pipeline) take(caller, site, tool string) *Error {
	limit, wait := pl.rates.Take(caller, site, tool, pl.now())
	if limit == "" {
		return nil
	}
	e := Errorf(RateLimit, "", NotRun, "%s %s", tooMany[limit], TryAgain(wait)).
		Detail("limit", string(limit))
	e.Retry = wait
	return e
}
