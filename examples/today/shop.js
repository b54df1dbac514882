// The shop: products, one cart, three phases. It announces every change of the
// phase with a "phase" event and knows nothing of agents.
'use strict';

const byId = (id) => document.getElementById(id);

/** Prices are in cents, so that sums are exact. */
const products = [
  { id: 'sourdough', name: 'Sourdough loaf', price: 540 },
  { id: 'rye', name: 'Dark rye', price: 480 },
  { id: 'baguette', name: 'Baguette', price: 190 },
  { id: 'croissant', name: 'Butter croissant', price: 210 },
  { id: 'cardamom-bun', name: 'Cardamom bun', price: 260 },
];
const MOST = 24;

const shop = Object.assign(new EventTarget(), {
  /** @type {'empty'|'filled'|'ordered'} */
  phase: 'empty',
  /** @type {Map<string, number>} product id -> how many */
  cart: new Map(),
  giftOpen: false,
  /** @type {null|{number: number, name: string, lines: object[], total: number, gift: string}} */
  order: null,
  orders: 0,
});

const euro = new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' });
const money = (cents) => euro.format(cents / 100);

function productWithId(id) {
  const product = products.find((each) => each.id === id);
  if (!product) throw new Error(`The shelf has no "${id}". It has: ${products.map((each) => each.id).join(', ')}.`);
  return product;
}

/** Sets how many of a product are in the cart; 0 takes it out. Returns the product. */
function setQuantity(id, quantity) {
  const product = productWithId(id);
  if (shop.phase === 'ordered') throw new Error('The order is placed. Start a new one first.');
  if (!Number.isInteger(quantity) || quantity < 0 || quantity > MOST) throw new Error(`A quantity is a whole number from 0 to ${MOST}.`);
  if (quantity === 0) shop.cart.delete(id);
  else shop.cart.set(id, quantity);
  if (shop.cart.size === 0) shop.giftOpen = false;
  say(`${quantity} x ${product.name} in the cart.`);
  enter(shop.cart.size > 0 ? 'filled' : 'empty');
  return product;
}

const inCart = (id) => shop.cart.get(id) ?? 0;

function cartContents() {
  const lines = products.filter((each) => shop.cart.has(each.id)).map((each) => ({
    product: each.id, name: each.name, quantity: inCart(each.id), cents: inCart(each.id) * each.price,
  }));
  return { lines, totalCents: lines.reduce((sum, line) => sum + line.cents, 0), giftCard: giftWords() };
}

const giftWords = () => (shop.giftOpen ? byId('giftMessage').value.trim() : '');

function openGift() {
  shop.giftOpen = true;
  enter(shop.phase);
}

function writeGift(message) {
  byId('giftMessage').value = message;
}

function placeOrder(name) {
  const customer = String(name ?? '').trim();
  if (!customer) throw new Error('An order needs a name.');
  if (shop.phase !== 'filled') throw new Error('The cart is empty.');
  const { lines, totalCents, giftCard } = cartContents();
  shop.orders += 1;
  shop.order = { number: shop.orders, name: customer, lines, total: totalCents, gift: giftCard };
  shop.cart.clear();
  shop.giftOpen = false;
  say('');
  enter('ordered');
  return shop.order;
}

function startAgain() {
  shop.order = null;
  byId('giftMessage').value = '';
  say('');
  enter('empty');
}

/** Goes to a phase, draws it, and tells its listeners when it changes. */
function enter(phase) {
  const before = shop.phase;
  shop.phase = phase;
  draw();
  if (phase !== before) shop.dispatchEvent(new Event('phase'));
}

function say(words) {
  byId('said').textContent = words;
}

function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function button(words, label, id, action) {
  const node = element('button', 'quiet', words);
  node.type = 'button';
  node.id = id;
  node.setAttribute('aria-label', label);
  node.addEventListener('click', action);
  return node;
}

function cartLine(line) {
  const change = (by) => () => setQuantity(line.product, line.quantity + by);
  const more = button('+', `One more ${line.name}`, `more-${line.product}`, change(1));
  more.disabled = line.quantity >= MOST;
  return element('li', '',
    element('span', 'name', line.name), element('span', 'cost', money(line.cents)),
    element('span', 'stepper', button('−', `One less ${line.name}`, `less-${line.product}`, change(-1)),
      element('span', 'quantity', String(line.quantity)), more));
}

function draw() {
  const focused = document.activeElement?.id;
  const ordered = shop.phase === 'ordered';
  byId('shelf').inert = ordered;
  byId('cartEmpty').hidden = shop.phase !== 'empty';
  byId('cartFilled').hidden = shop.phase !== 'filled';
  byId('ordered').hidden = !ordered;
  byId('cartTitle').textContent = ordered ? 'Your order' : 'Your cart';
  byId('openGift').hidden = shop.giftOpen;
  byId('gift').hidden = !shop.giftOpen;
  const { lines, totalCents } = cartContents();
  byId('lines').replaceChildren(...lines.map(cartLine));
  byId('total').textContent = money(totalCents);
  if (shop.order) byId('receipt').textContent = receiptWords(shop.order);
  // The lines are new: give the keyboard its place back, or the nearest one that is left.
  if (focused && focused !== document.activeElement?.id) {
    const place = byId(focused);
    if (place && place.checkVisibility()) place.focus();
    else byId('cartTitle').focus();
  }
}

function receiptWords(order) {
  const goods = order.lines.map((line) => `${line.quantity} x ${line.name}`).join(', ');
  const card = order.gift ? ` The gift card says: "${order.gift}".` : '';
  return `Order ${order.number} for ${order.name}: ${goods}. ${money(order.total)}, to pay when you collect it.${card}`;
}

byId('products').append(...products.map((product) => element('li', '',
  element('span', 'name', product.name), element('span', 'price', money(product.price)),
  button('Add', `Add ${product.name}`, `add-${product.id}`, () => setQuantity(product.id, Math.min(MOST, inCart(product.id) + 1))))));
byId('openGift').addEventListener('click', () => {
  openGift();
  shop.dispatchEvent(new Event('gift'));
  byId('giftMessage').focus();
});
byId('checkout').addEventListener('submit', (event) => {
  event.preventDefault();
  placeOrder(byId('customer').value);
  byId('newOrder').focus();
});
byId('newOrder').addEventListener('click', () => {
  startAgain();
  byId('cartTitle').focus();
});
draw();
