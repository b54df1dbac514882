// The shop itself: what a person uses, and what the tool calls. The orders live in the page and start again on reload.

const products = [
  { id: 'assam', name: 'Assam, 100 g', price: 7.5 },
  { id: 'sencha', name: 'Sencha, 100 g', price: 9 },
  { id: 'rooibos', name: 'Rooibos, 200 g', price: 6.2 },
];
const orders = [];

const money = (amount) => amount.toLocaleString('en', { style: 'currency', currency: 'EUR' });

function findProduct(id) {
  const product = products.find((p) => p.id === id);
  if (!product) throw new Error(`There is no product "${id}". There are: ${products.map((p) => p.id).join(', ')}.`);
  return product;
}

function executePurchase(id) {
  const { name } = findProduct(id);
  orders.push(name);
  show(`${name} was ordered.`);
}

function show(note = '') {
  document.getElementById('products').replaceChildren(...products.map((product) => {
    const item = document.createElement('li');
    const name = Object.assign(document.createElement('span'), { className: 'name', textContent: product.name });
    const price = Object.assign(document.createElement('span'), { className: 'price', textContent: money(product.price) });
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Buy' });
    button.setAttribute('aria-label', `Buy ${product.name}`);
    button.addEventListener('click', () => executePurchase(product.id));
    item.append(name, price, button);
    return item;
  }));
  document.getElementById('orders').replaceChildren(...orders.map((name) => Object.assign(document.createElement('li'), { textContent: name })));
  document.getElementById('none').hidden = orders.length > 0;
  document.getElementById('note').textContent = note;
}

show();
