package text

import "strings"

// farthest is how many characters a misspelled word may be away from the one that was meant.
const farthest = 2

// Nearest returns the word that was probably meant: the one that the given word begins, or the
// one that fewest insertions, deletions and replacements of characters make out of it, at most
// two, and no more than half of the word. Case does not count. It returns "" when nothing is near.
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

// distance returns how many insertions, deletions and replacements make b out of a, or
// more than farthest when the lengths say so already.
func distance(a, b []rune) int {
	if max(len(a), len(b))-min(len(a), len(b)) > farthest {
		return farthest + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
