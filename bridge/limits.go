package bridge

import (
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
	ErrorMessage int           // 4 KiB of a page's own error text
	Question     time.Duration // 5 min, until a question counts as declined
}

func (l Limits) withDefaults() Limits {
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
