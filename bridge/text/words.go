package text

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// bareWord is a word that every shell takes as it is.
var bareWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:=@%+,-]*$`)

// ShellWord returns a word as people paste it into a POSIX shell.
func ShellWord(w string) string {
	if bareWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Operand returns the last words of a command line: ShellWord of one, behind "--" where the
// program would take it for a flag.
func Operand(w string) string {
	if strings.HasPrefix(w, "-") {
		return "-- " + ShellWord(w)
	}
	return ShellWord(w)
}

// Plural returns the first text for one, and the second for any other number.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count returns a number with its noun, such as "1 tool" and "2 tools".
func Count(n int, noun string) string {
	return strconv.Itoa(n) + " " + Plural(n, noun, noun+"s")
}

// List returns words as a sentence has them: "a, b and c", where last is "and".
func List(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// Few returns the first words of a list, at most most, and how many more there are.
func Few(words []string, most int) string {
	if more := len(words) - most; more > 0 {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(words, ", ")
}

// FewQuoted is Few of the words in quotes, each as Quote writes it.
func FewQuoted(words []string, most int) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return Few(quoted, most)
}

// exceptionName matches the beginning of an exception's text.
var exceptionName = regexp.MustCompile(`^\s*(Uncaught )?(\(in promise\) )?([A-Z]\w*(Error|Exception))(:|\s*$)\s*`)

// Said returns the words of an exception without the name that browsers put before them, as in
// "InvalidStateError: Duplicate tool name"; "" when it has only a name.
func Said(exception string) string {
	return strings.TrimSpace(exceptionName.ReplaceAllString(exception, ""))
}
