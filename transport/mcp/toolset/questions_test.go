package toolset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// bigShop has 60 tools, as a large shop has them.
func bigShop() *List {
	var decls []bridge.Declaration
	for _, t := range [][2]string{
		{"search_products", "Searches the catalog of products by words, category and price."}, {"get_product", "Returns the details of one product: price, stock, pictures."},
		{"add_to_cart", "Adds a product to the shopping cart."}, {"remove_from_cart", "Removes a product from the shopping cart."}, {"view_cart", "Shows the shopping cart and its total."},
		{"checkout", "Places the order for everything in the cart, and pays for it."}, {"apply_coupon", "Applies a discount code to the cart."}, {"list_orders", "Lists earlier orders with their state."},
		{"get_order", "Returns one order: items, address, payment."}, {"cancel_order", "Cancels an order that was not shipped yet."}, {"track_shipment", "Shows where the parcel of an order is."},
		{"start_return", "Begins to send back items of an order, for a refund."}, {"list_returns", "Lists returns and refunds."}, {"write_review", "Publishes a review of a product, with stars."},
		{"list_reviews", "Lists what customers say about a product."}, {"add_to_wishlist", "Saves a product for later."}, {"view_wishlist", "Shows the saved products."},
		{"update_address", "Changes the delivery address of the account."}, {"list_addresses", "Lists the addresses of the account."}, {"update_password", "Changes the password of the account."},
		{"update_email", "Changes the e-mail address of the account."}, {"subscribe_newsletter", "Subscribes to the newsletter."}, {"unsubscribe_newsletter", "Ends the subscription to the newsletter."},
		{"find_store", "Finds shops near a place, with opening hours."}, {"reserve_pickup", "Reserves an item for collection in a store."}, {"contact_support", "Sends a message to customer service."},
		{"open_chat", "Starts a conversation with an employee."}, {"list_vouchers", "Lists gift cards and their balance."}, {"redeem_voucher", "Redeems a gift card."}, {"set_language", "Sets the language of the page."},
		{"set_currency", "Sets the currency in which prices are shown."}, {"compare_products", "Compares up to four products side by side."}, {"get_invoice", "Downloads the invoice of an order as a PDF."},
		{"list_payment_methods", "Lists credit cards and bank accounts that are stored."}, {"add_payment_method", "Stores another credit card."}, {"delete_account", "Deletes the account for ever."},
	} {
		d := bridgetest.Tool(t[0], "")
		d.Description = t[1]
		decls = append(decls, d)
	}
	for i := len(decls); i < 60; i++ {
		d := bridgetest.Tool(fmt.Sprintf("report_%02d", i), "")
		d.Description = fmt.Sprintf("Returns the internal report number %d of the warehouse.", i)
		decls = append(decls, d)
	}
	return New([]Source{siteOf("shop", decls...)}, Options{})
}

// TestNaturalQuestions: what people ask finds the right tool, mostly as the first; and
// where few tools match, the names of all follow, in few bytes. E10.
func TestNaturalQuestions(t *testing.T) {
	x := bigShop()
	first := 0
	for _, c := range []struct{ question, tool string }{
		{"Where is my parcel?", "track_shipment"}, {"What did I order before?", "list_orders"}, {"I want to cancel my order", "cancel_order"},
		{"put it into the cart", "add_to_cart"}, {"what is in my cart", "view_cart"}, {"pay for everything", "checkout"}, {"use a discount code", "apply_coupon"},
		{"how do I return something and get a refund?", "start_return"}, {"what do customers say about it", "list_reviews"}, {"publishing a review with stars", "write_review"},
		{"save this product for later", "add_to_wishlist"}, {"change my delivery address", "update_address"}, {"I forgot my password, changing it", "update_password"},
		{"which shops are near me", "find_store"}, {"talk to an employee", "open_chat"}, {"balance of my gift card", "list_vouchers"}, {"the invoice as a pdf", "get_invoice"},
		{"comparing these two products", "compare_products"}, {"show prices in another currency", "set_currency"}, {"buy", "checkout"},
	} {
		found := x.search(c.question, defaultMatches)
		at := slices.IndexFunc(found.Tools, func(m match) bool { return m.Name == c.tool })
		if at == 0 {
			first++
		} else {
			t.Logf("%q: %s is at %d", c.question, c.tool, at)
		}
		if at < 0 && !slices.Contains(found.Names, c.tool) {
			t.Errorf("%q: %s is missing, also among %d names", c.question, c.tool, len(found.Names))
		}
	}
	if first < 16 {
		t.Errorf("the right tool is first for %d of 20", first)
	}
	none := x.search("buy", 10)
	if none.Matched != 0 || len(none.Names) != 60 || len(strings.Join(none.Names, ", ")) > maxToldBytes {
		t.Errorf("what nothing matches: %+v", none)
	}
	if many := x.search("product", 10); many.Names != nil { // the control
		t.Errorf("what many match is followed by %q", many.Names)
	}
}

// TestSameNameFirst: the tool of that name comes first, whatever else has its words.
func TestSameNameFirst(t *testing.T) {
	decls := named("order", "about")
	for i := range 20 {
		d := bridgetest.Tool(fmt.Sprintf("order_order_%d", i), "")
		d.Description = "order order order about about"
		decls = append(decls, d)
	}
	x := New([]Source{siteOf("shop", decls...)}, Options{})
	for _, query := range []string{"order", "Order!", "about"} {
		if got := x.search(query, 1).Tools; len(got) != 1 || got[0].Name != strings.ToLower(strings.Trim(query, "!")) {
			t.Errorf("%q finds %+v", query, got)
		}
	}
}
