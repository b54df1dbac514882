package policy

import ("time";"errors")

type Level uint8
const (Auto Level = iota; Once; Ask; Never)
func ParseLevel(s string) (Level, error) { switch s { case "auto": return Auto,nil; case "ask-once": return Once,nil; case "ask": return Ask,nil; case "never": return Never,nil}; return 0, errors.New("x") }
type Hints struct { ReadOnly, Destructive, Consequential, UntrustedContent *bool }
type Operator struct { Mode string }
type Input struct { Operator Operator; Tool string; Hints Hints; TopLevel bool; Site, Request Level }
type Decision struct { Level Level; Layer, Reason string }
func Decide(in Input) Decision { if in.Operator.Mode=="auto" || (in.TopLevel && in.Hints.ReadOnly!=nil && *in.Hints.ReadOnly) { return Decision{} }; return Decision{Level: Ask} }
type Rate struct{N int; Per time.Duration}
type Limiter struct{}
func NewLimiter(Rate) *Limiter { return &Limiter{} }
func (*Limiter) Allow(string, time.Time) (bool, time.Duration) { return true, 0 }
