// The shop's own script. It declares no tools: the adapter beside it does.

const cart = [];
const show = (id, text) => { document.getElementById(id).textContent = text; };

function changed() {
  show('cart', cart.length === 0 ? 'The cart is empty.' : cart.join(', '));
  document.getElementById('order').disabled = cart.length === 0;
}

for (const item of document.querySelectorAll('#products li')) {
  item.querySelector('button').addEventListener('click', () => {
    cart.push(item.querySelector('.name').textContent);
    changed();
  });
}

document.getElementById('order').addEventListener('click', () => {
  show('done', `Thank you. You ordered ${cart.splice(0).join(', ')}.`);
  changed();
});
