// ==PagetoolsAdapter==
// @name        corner-shop
// @version     1.0.0
// @description Search, cart and orders of the corner shop
// ==/PagetoolsAdapter==

const products = () => [...document.querySelectorAll('#products li')];
const text = (element, selector) => element.querySelector(selector).textContent;
const shown = (id) => document.getElementById(id).textContent;

modelContext.registerTool({
  name: 'search_products',
  description: 'Finds products of the shop by a part of their name. Returns id, name and price of each.',
  inputSchema: { type: 'object', properties: { query: { type: 'string', description: 'A part of the name; all products without it.' } } },
  annotations: { readOnlyHint: true },
  execute: ({ query = '' }) => products()
    .filter((item) => text(item, '.name').toLowerCase().includes(query.toLowerCase()))
    .map((item) => ({ id: item.dataset.id, name: text(item, '.name'), price: text(item, '.price') })),
});

modelContext.registerTool({
  name: 'add_to_cart',
  description: 'Puts a product into the cart, and returns what is in it.',
  inputSchema: {
    type: 'object', required: ['id'],
    properties: { id: { type: 'string', description: 'The id of a product, from search_products.', examples: ['rye'] } },
  },
  annotations: { readOnlyHint: false, destructiveHint: false },
  execute({ id }) {
    const item = products().find((one) => one.dataset.id === id);
    if (item === undefined) throw new Error(`There is no product "${id}": search_products has the ids.`);
    item.querySelector('button').click(); // as a person does
    return shown('cart');
  },
});

modelContext.registerTool({
  name: 'order_cart',
  description: 'Orders what is in the cart, after a person agreed to it.',
  inputSchema: { type: 'object', properties: {} },
  annotations: { readOnlyHint: false, destructiveHint: false }, // it asks itself: with consequentialHint people would be asked twice
  async execute(_, agent) {
    const order = document.getElementById('order');
    if (order.disabled) throw new Error('The cart is empty: add_to_cart fills it.');
    const agreed = await agent.requestUserInteraction(() => confirm(`Order ${shown('cart')}?`));
    if (!agreed) throw new Error('The person does not want to order.');
    order.click();
    return shown('done');
  },
});
