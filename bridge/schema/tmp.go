package schema
type Direction int
const (Request Direction = iota; Response)
type Change int
const (Same Change = iota; Patch; Minor; Major)
func Compare(old, new []byte, d Direction) Change { if string(old)==string(new) {return Same}; return Major }
func Accepts(pinned, live []byte) bool { return string(pinned)==string(live) }
