package oauth

// Kept counts the tokens that a verifier keeps.
func Kept(v *Verifier) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.kept)
}
