package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/pagetools/pagetools/bridge/opentools/oauth"
)

// The smallest program: a key is kept once, and requests to its API are signed with it.
func Example() {
	ctx := context.Background()
	keeper := oauth.New(oauth.Options{}) // in memory; OpenStore keeps credentials in a folder
	key := oauth.Scheme{Name: "key", Object: []byte(`{"type":"apiKey","in":"header","name":"X-Key"}`)}
	api, err := url.Parse("https://api.example/v1")
	if err != nil {
		panic(err)
	}
	target := oauth.Target{Principal: "local", Resource: api, Alternatives: [][]oauth.Scheme{{key}}}

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/v1/recipes", nil)
	if err != nil {
		panic(err)
	}
	err = keeper.Sign(ctx, target, r)
	fmt.Println(errors.Is(err, oauth.ErrLoginNeeded), err)

	if err := keeper.Keep(ctx, target, key, "of-a-person"); err != nil {
		panic(err)
	}
	fmt.Println(keeper.Sign(ctx, target, r), r.Header.Get("X-Key"))
	// Output:
	// true a login is needed for https://api.example/v1: log in to https://api.example/v1 with key
	// <nil> of-a-person
}
