package check

import (
	"slices"

	"github.com/pagetools/pagetools/bridge/schema"
)

const (
	mostPairs  = 250_000 // of tools that are gone and new, compared to find near renames
	mostShared = 120     // words of a description that are compared
)

// traits tell whether a tool is another one under a new name.
type traits struct {
	tool   *Tool
	exact  [4]string // its contract
	words  []int     // of the description, as numbers in ascending order
	params []int     // the names of the parameters, likewise
}

// renames returns, for tools that are gone, the new ones that they became: with the same contract
// first, and then those that are alike. Each is in one pair at most.
func renames(gone, added []*Tool) map[*Tool]*Tool {
	pairs := map[*Tool]*Tool{}
	if len(gone) == 0 || len(added) == 0 {
		return pairs
	}
	numbers := map[string]int{}
	olds, news := traitsOf(gone, numbers), traitsOf(added, numbers)
	taken := map[*Tool]bool{}
	exact := map[[4]string][]*Tool{}
	for _, n := range news {
		exact[n.exact] = append(exact[n.exact], n.tool)
	}
	for _, o := range olds {
		if same := exact[o.exact]; len(same) > 0 && o.says() {
			pairs[o.tool], exact[o.exact] = same[0], same[1:]
			taken[same[0]] = true
		}
	}
	if len(olds)*len(news) > mostPairs {
		return pairs
	}
	for _, o := range olds {
		if pairs[o.tool] != nil {
			continue
		}
		var best *Tool
		most := 0.0
		for _, n := range news {
			if alike := o.like(n); !taken[n.tool] && alike > most {
				best, most = n.tool, alike
			}
		}
		if best != nil {
			pairs[o.tool], taken[best] = best, true
		}
	}
	return pairs
}

func traitsOf(tools []*Tool, numbers map[string]int) []traits {
	all := make([]traits, len(tools))
	for i, t := range tools {
		var stems, names []string
		for _, word := range wordsOf(t.Description) {
			if word = stem(word); !vocabulary().has("function", word) {
				stems = append(stems, word)
			}
		}
		if input, err := schema.Read(inputOf(t), maxDepth); err == nil {
			names = input.Get("properties").Names()
		}
		all[i] = traits{t, contract(t), numbered(stems, numbers), numbered(names, numbers)}
	}
	return all
}

// numbered returns words as numbers in ascending order, each once, at most so many as are compared.
func numbered(words []string, numbers map[string]int) []int {
	var all []int
	for _, word := range words {
		if _, known := numbers[word]; !known {
			numbers[word] = len(numbers)
		}
		all = append(all, numbers[word])
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), mostShared)]
}

// says reports whether a tool has anything that tells it from others.
func (t *traits) says() bool { return len(t.words)+len(t.params) > 0 }

// like returns how much a new tool is like one that is gone: 0 when it is another tool. The texts
// must be alike by 80 %, and the names of parameters by half; or the parameters are the same, there
// are some, and the texts are alike by half.
func (t *traits) like(n traits) float64 {
	const mostly, half = 0.8, 0.5
	if len(t.words) == 0 || len(n.words) == 0 {
		return 0
	}
	texts := jaccard(t.words, n.words, half)
	if texts < half {
		return 0
	}
	params := 1.0
	if len(t.params)+len(n.params) > 0 {
		params = jaccard(t.params, n.params, half)
	}
	same := params == 1 && len(t.params) > 0
	if same || texts >= mostly && params >= half {
		return texts + params
	}
	return 0
}
