// The page itself: what a person uses, and what the tools call. The server has the recipes.
'use strict';

/** Asks the server. What it refuses is an error with its words. */
async function ask(path, method = 'GET', body = undefined, signal = undefined) {
  const response = await fetch(`/page${path}`, {
    method, signal, body: body && JSON.stringify(body), headers: body ? { 'Content-Type': 'application/json' } : {},
  });
  const result = await response.json();
  if (!response.ok) throw new Error(result.error_description);
  return result;
}

/** The parameters that have a value, as a query. Everything becomes a text in it, so an object is refused here. */
function queryOf(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  for (const [name, value] of given) {
    if (typeof value === 'object') throw new Error(`invalid value for ${name}: must be a text or a number`);
  }
  return new URLSearchParams(given);
}

const searchRecipes = (values, signal) => ask(`/recipes?${queryOf(values)}`, 'GET', undefined, signal);
const getRecipe = (id, signal) => ask(`/recipes/${encodeURIComponent(id)}`, 'GET', undefined, signal);

async function saveRecipe(recipe, signal) {
  const saved = await ask('/recipes', 'POST', recipe, signal);
  await show(`${saved.title} was saved.`);
  return saved;
}

async function deleteRecipe(id, signal) {
  const result = await ask(`/recipes/${encodeURIComponent(id)}`, 'DELETE', undefined, signal);
  await show('The recipe was deleted.');
  return result;
}

async function planWeek(wishes, signal) {
  const plan = await ask('/plans', 'POST', wishes, signal);
  document.getElementById('credits').textContent = plan.creditsLeft;
  const list = document.getElementById('plans');
  list.replaceChildren(...plan.days.map(({ day, title }) => element('li', `${day}: ${title}`)));
  list.hidden = false;
  return plan;
}

const element = (name, text, ...children) => {
  const made = Object.assign(document.createElement(name), { textContent: text });
  made.append(...children);
  return made;
};

function card({ id, title, cuisine, minutes, ingredients, steps, mine }) {
  const item = element('li', '',
    element('h2', title),
    element('p', `${cuisine}, ${minutes} minutes: ${ingredients.join(', ')}`),
    element('ol', '', ...steps.map((step) => element('li', step))));
  if (mine) {
    const button = Object.assign(element('button', 'Delete'), { type: 'button', className: 'plain' });
    button.setAttribute('aria-label', `Delete ${title}`);
    button.addEventListener('click', () => say(async () => { await deleteRecipe(id); }));
    item.append(button);
  }
  return item;
}

/** Shows what the search form asks for. */
async function show(note = '') {
  const form = new FormData(document.getElementById('search'));
  const { recipes } = await searchRecipes(Object.fromEntries(form));
  document.getElementById('recipes').replaceChildren(...recipes.map(card));
  document.getElementById('note').textContent = note || (recipes.length ? '' : 'Nothing was found.');
}

/** Runs what a person started, and tells them when it fails. */
async function say(work) {
  try {
    await work();
  } catch (error) {
    document.getElementById('note').textContent = error.message;
  }
}

const lines = (text) => text.split('\n').map((line) => line.trim()).filter((line) => line);

document.getElementById('search').addEventListener('submit', (event) => {
  event.preventDefault();
  void say(() => show());
});
document.getElementById('plan').addEventListener('click', () => say(async () => {
  const { cuisine, maxMinutes } = Object.fromEntries(new FormData(document.getElementById('search')));
  await planWeek({ ...(cuisine && { cuisine }), ...(maxMinutes && { maxMinutes: Number(maxMinutes) }) });
}));
document.getElementById('add').addEventListener('submit', (event) => {
  event.preventDefault();
  const { title, cuisine, minutes, ingredients, steps } = Object.fromEntries(new FormData(event.target));
  void say(async () => {
    await saveRecipe({
      title, cuisine, minutes: Number(minutes), ingredients: lines(ingredients), steps: lines(steps),
    });
    event.target.reset();
  });
});

void say(() => show());
