// Today's interface: document.modelContext.registerTool(tool, {signal}). Each
// phase of the shop has its own tools and its own AbortController; leaving the
// phase aborts it, and that takes its tools away.
'use strict';

const product = (description) => ({ type: 'string', description, enum: products.map((each) => each.id), examples: ['sourdough'] });
const quantity = (minimum, description) => ({ type: 'integer', description, minimum, maximum: MOST, examples: [2] });
const input = (properties, ...required) => ({ type: 'object', properties, required, additionalProperties: false });
const readOnly = { readOnlyHint: true };

const cartTool = {
  name: 'view-cart',
  title: 'View the cart',
  description: 'What is in the cart, with prices in euro cents.',
  inputSchema: input({}),
  annotations: readOnly,
  execute: async () => cartContents(),
};

const listProducts = {
  name: 'list-products',
  title: 'List the products',
  description: 'What the bakery has tomorrow, with prices in euro cents.',
  inputSchema: input({}),
  annotations: readOnly,
  execute: async () => ({ products: products.map(({ id, name, price }) => ({ product: id, name, cents: price })) }),
};

const addToCart = {
  name: 'add-to-cart',
  title: 'Add to the cart',
  description: 'Put a product into the cart, in addition to what is there.',
  inputSchema: input({ product: product('Which product'), quantity: quantity(1, 'How many to add') }, 'product', 'quantity'),
  async execute({ product: id, quantity: count }) {
    const added = setQuantity(id, inCart(id) + count);
    return `The cart has ${inCart(id)} x ${added.name}. The total is ${money(cartContents().totalCents)}.`;
  },
};

const changeQuantity = {
  name: 'set-quantity',
  title: 'Change a quantity',
  description: 'Say how many of a product the cart shall have. 0 takes it out.',
  inputSchema: input({ product: product('Which product'), quantity: quantity(0, 'How many in all') }, 'product', 'quantity'),
  async execute({ product: id, quantity: count }) {
    const changed = setQuantity(id, count);
    return `The cart has ${count} x ${changed.name}. The total is ${money(cartContents().totalCents)}.`;
  },
};

const addGiftCard = {
  name: 'add-gift-card',
  title: 'Add a gift card',
  description: 'Open a gift card for this order. Afterwards the tool write-gift-card is there to write it.',
  inputSchema: input({}),
  async execute() {
    openGift();
    await offerGiftCard();
    return 'The gift card is open. Use write-gift-card to write it.';
  },
};

const writeGiftCard = {
  name: 'write-gift-card',
  title: 'Write the gift card',
  description: 'Write the words of the gift card. It replaces what was there.',
  inputSchema: input({ message: { type: 'string', description: 'The words on the card', minLength: 1, maxLength: 140, examples: ['Happy birthday, Ada!'] } }, 'message'),
  async execute({ message }) {
    writeGift(message);
    return `The gift card says: "${message}"`;
  },
};

const checkOut = {
  name: 'check-out',
  title: 'Order',
  description: 'Place the order for what is in the cart. The bakery starts to bake: an order cannot be taken back.',
  inputSchema: input({ name: { type: 'string', description: 'The name for the order', minLength: 1, maxLength: 60, examples: ['Ada'] } }, 'name'),
  annotations: { consequentialHint: true },
  async execute({ name }) {
    return receiptWords(placeOrder(name));
  },
};

const viewOrder = {
  name: 'view-order',
  title: 'View the order',
  description: 'The order that was placed last.',
  inputSchema: input({}),
  annotations: readOnly,
  execute: async () => receiptWords(shop.order),
};

const newOrder = {
  name: 'new-order',
  title: 'Start a new order',
  description: 'Put the placed order aside and start with an empty cart.',
  inputSchema: input({}),
  async execute() {
    startAgain();
    return 'The cart is empty.';
  },
};

const phaseTools = {
  empty: [addToCart],
  filled: [addToCart, changeQuantity, cartTool, addGiftCard, checkOut],
  ordered: [viewOrder, newOrder],
};

/** Ends with the phase; a new one starts with the next. */
let phase = new AbortController();

/** Registers tools until the signal aborts. An abort before the end of the registration is not an error. */
async function register(tools, signal) {
  const settled = await Promise.allSettled(tools.map((tool) => document.modelContext.registerTool(tool, { signal })));
  for (const { reason } of settled) if (reason && !signal?.aborted) console.error(reason);
}

async function enterPhase() {
  phase.abort();
  phase = new AbortController();
  await register(phaseTools[shop.phase], phase.signal);
}

/** The card is open once per phase: a second registration of the same name would be refused. */
async function offerGiftCard() {
  const known = await document.modelContext.getTools();
  if (!known.some((tool) => tool.name === writeGiftCard.name)) await register([writeGiftCard], phase.signal);
}

/** Shows in the page which tools an agent sees now. */
async function showTools() {
  const known = await document.modelContext.getTools();
  byId('agentSection').hidden = false;
  byId('agentTools').replaceChildren(...known.map((tool) => {
    const hints = tool.annotations ?? {};
    const hint = hints.readOnlyHint ? 'reads only' : hints.consequentialHint ? 'has consequences' : 'makes a change';
    return element('li', '', element('code', '', tool.name), ` ${hint}`);
  }));
}

if ('modelContext' in document) {
  document.modelContext.addEventListener('toolchange', showTools);
  shop.addEventListener('phase', enterPhase);
  shop.addEventListener('gift', offerGiftCard);
  register([listProducts]);
  enterPhase();
}
