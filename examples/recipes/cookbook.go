package recipes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Recipe says how a dish is made.
type Recipe struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	Cuisine     string   `json:"cuisine"`
	Minutes     int      `json:"minutes"`
	Ingredients []string `json:"ingredients"`
	Steps       []string `json:"steps"`
	Mine        bool     `json:"mine"` // of this cookbook, so that it can be deleted
}

var cuisines = []string{"french", "indian", "italian", "japanese", "mexican"}

// house are the recipes that everybody has.
var house = func() (all []Recipe) {
	text, err := files.ReadFile("house.json")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		panic(err) // the file is part of the program
	}
	return all
}()

// cookbook holds the recipes and credits of one person, or of one guest.
type cookbook struct {
	own     []Recipe
	made    int // so many recipes were ever saved: ids are not used twice
	credits int
	calls   throttle
}

const (
	mostOwn      = 20
	startCredits = 5
)

func newCookbook() *cookbook { return &cookbook{credits: startCredits} }

func (b *cookbook) all() []Recipe { return slices.Concat(b.own, house) }

// query chooses recipes. Empty members choose nothing out.
type query struct {
	Text       string
	Cuisine    string
	MaxMinutes int
}

// search returns the recipes that have the text in their title or their ingredients.
func (b *cookbook) search(q query) ([]Recipe, error) {
	if q.Cuisine != "" && !slices.Contains(cuisines, q.Cuisine) {
		return nil, invalid("cuisine", "must be one of "+strings.Join(cuisines, ", "))
	}
	found := []Recipe{}
	for _, r := range b.all() {
		words := strings.ToLower(r.Title + "\n" + strings.Join(r.Ingredients, "\n"))
		if strings.Contains(words, strings.ToLower(q.Text)) &&
			(q.Cuisine == "" || r.Cuisine == q.Cuisine) &&
			(q.MaxMinutes == 0 || r.Minutes <= q.MaxMinutes) {
			found = append(found, r)
		}
	}
	return found, nil
}

// get returns one recipe.
func (b *cookbook) get(id string) (Recipe, error) {
	all := b.all()
	i := slices.IndexFunc(all, func(r Recipe) bool { return r.ID == id })
	if i < 0 {
		return Recipe{}, fail(http.StatusNotFound, "not_found",
			"There is no recipe with this id. Search for one.")
	}
	return all[i], nil
}

// save adds a recipe of one's own, and returns it with its id.
func (b *cookbook) save(r Recipe) (Recipe, error) {
	err := cmp.Or(
		check("title", 80, r.Title),
		check("ingredients", 80, r.Ingredients...),
		check("steps", 300, r.Steps...),
	)
	switch {
	case err != nil:
		return Recipe{}, err
	case !slices.Contains(cuisines, r.Cuisine):
		return Recipe{}, invalid("cuisine", "must be one of "+strings.Join(cuisines, ", "))
	case r.Minutes < 1 || r.Minutes > 24*60:
		return Recipe{}, invalid("minutes", "must be from 1 to 1440")
	case len(b.own) >= mostOwn:
		return Recipe{}, fail(http.StatusConflict, "full",
			"The cookbook is full. Delete a recipe first.")
	}
	b.made++
	r.ID, r.Mine = fmt.Sprintf("mine-%d", b.made), true
	b.own = append(b.own, r)
	return r, nil
}

// remove deletes a recipe of one's own.
func (b *cookbook) remove(id string) error {
	r, err := b.get(id)
	if err != nil {
		return err
	}
	if !r.Mine {
		return fail(http.StatusForbidden, "not_yours",
			"This recipe is everybody's. Only your own can be deleted.")
	}
	b.own = slices.DeleteFunc(b.own, func(own Recipe) bool { return own.ID == id })
	return nil
}

// plan says what to cook on some days, and how many credits are left.
type plan struct {
	Days        []planned `json:"days"`
	CreditsLeft int       `json:"creditsLeft"`
}

type planned struct {
	Day    string `json:"day"`
	Recipe string `json:"recipe"` // an id
	Title  string `json:"title"`
}

var weekdays = []string{
	"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
}

// planWeek chooses dishes from Monday on, and costs a credit. What cannot be planned costs
// nothing.
func (b *cookbook) planWeek(days int, q query) (plan, error) {
	if days < 1 || days > len(weekdays) {
		return plan{}, invalid("days", "must be from 1 to 7")
	}
	dishes, err := b.search(q)
	switch {
	case err != nil:
		return plan{}, err
	case len(dishes) == 0:
		return plan{}, fail(http.StatusNotFound, "not_found",
			"No recipe fits. Allow more time, or any cuisine.")
	case b.credits == 0:
		return plan{}, fail(http.StatusPaymentRequired, "no_credits", "No credits are left.")
	}
	b.credits--
	p := plan{CreditsLeft: b.credits}
	for i, day := range weekdays[:days] {
		dish := dishes[i%len(dishes)]
		p.Days = append(p.Days, planned{day, dish.ID, dish.Title})
	}
	return p, nil
}

func invalid(name, rule string) error {
	return wrong("invalid_request", "invalid value for %s: %s", name, rule)
}

// check returns an error unless there are 1 to 20 texts, each short and printable: people will read
// them.
func check(name string, most int, texts ...string) error {
	if len(texts) < 1 || len(texts) > 20 {
		return invalid(name, "must have 1 to 20 entries")
	}
	for _, text := range texts {
		n := utf8.RuneCountInString(text)
		if n < 1 || n > most || !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable) {
			return invalid(name, fmt.Sprintf("must have 1 to %d printable characters", most))
		}
	}
	return nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
