package text

import "strings"

// farthest limits how many characters a misspelled word may be away from the one that was meant.
const farthest = 2

// Nearest returns the word that was probably meant: the one that the given word begins, or the
// one that fewest insertions, deletions, replacements and exchanges of neighbors make out of it, at
// most two, and no more than half of the word. Case does not count. It returns "" when nothing is
// near.
func Nearest(word string, of []string) string {
	typed := []rune(strings.ToLower(word))
	best, least := "", farthest+1
	for _, candidate := range of {
		known := []rune(strings.ToLower(candidate))
		if len(typed) > 0 && strings.HasPrefix(string(known), string(typed)) {
			return candidate
		}
		if n := distance(typed, known); n < least && 2*n <= len(typed) {
			best, least = candidate, n
		}
	}
	return best
}

// DidYouMean returns the question whether the nearest word was meant, or "" when none is near.
func DidYouMean(word string, of []string) string {
	if near := Nearest(word, of); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// distance returns how many insertions, deletions, replacements and exchanges of neighbors make b
// out of a, or more than farthest when the lengths say so already.
func distance(a, b []rune) int {
	if max(len(a), len(b))-min(len(a), len(b)) > farthest {
		return farthest + 1
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		before, above, row = above, row, before
		row[0] = i + 1
		for j, y := range b {
			replaced := above[j]
			if x != y {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && x == b[j-1] && a[i-1] == y {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
