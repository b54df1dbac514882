// @ts-check
// The operator's page: it lists the calls that wait for a person, as they come and go.

import { ApiError, credential, keep, watch } from './api.js';
import { card } from './card.js';
import { byId } from './dom.js';

/** @type {Map<string, {element: HTMLElement, close: () => void}>} */
const cards = new Map();
const questions = byId('questions');

/** @param {import('./api.js').OpenQuestion[]} list */
function show(list) {
  const open = new Set(list.map((q) => q.id));
  for (const [id, shown] of cards) {
    if (open.has(id)) continue;
    shown.close();
    shown.element.remove();
    cards.delete(id);
  }
  for (const q of list) {
    if (cards.has(q.id)) continue;
    const shown = card(q);
    cards.set(q.id, shown);
    questions.append(shown.element);
  }
  byId('none').hidden = list.length > 0;
  byId('status').textContent = list.length === 0 ? 'Nothing waits.' : list.length === 1 ? 'One call waits.' : `${list.length} calls wait.`;
  document.title = list.length === 0 ? 'pagetools: questions' : `(${list.length}) pagetools: questions`;
}

const again = 2000; // milliseconds before the next attempt

async function run() {
  if (credential() === '') {
    askCredential('Give the credential.');
    return;
  }
  try {
    await watch(show);
    byId('status').textContent = 'The connection ended. Trying again…';
  } catch (e) {
    if (e instanceof ApiError && (e.status === 401 || e.status === 403)) {
      askCredential(e.message);
      return;
    }
    byId('status').textContent = 'pagetools does not answer. Trying again…';
  }
  setTimeout(run, again);
}

/** @param {string} why */
function askCredential(why) {
  show([]);
  byId('none').hidden = true;
  byId('status').textContent = why;
  byId('login').hidden = false;
  byId('credential').focus();
}

byId('login').addEventListener('submit', (e) => {
  e.preventDefault();
  keep(/** @type {HTMLInputElement} */ (byId('credential')).value.trim());
  /** @type {HTMLInputElement} */ (byId('credential')).value = '';
  byId('login').hidden = true;
  run();
});

run();

page = true;
