package bridge

// trace is the id of the trace that the call belongs to: 32 hexadecimal digits, or "".
func (r *passage) trace() string {
	const version, id = len("00-"), 32
	if len(r.call.TraceParent) < version+id {
		return ""
	}
	return r.call.TraceParent[version : version+id]
}
