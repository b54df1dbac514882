// @ts-check
// The operator's page: it lists the calls that wait for a person, as they come and go.

import { ApiError, credential, keep, login, watch } from './api.js';
import { card } from './card.js';
import { showConnections } from './connections.js';
import { byId, passFocus } from './dom.js';

/** @type {Map<string, {element: HTMLElement, close: () => void}>} */
const cards = new Map();
const questions = byId('questions');

function count() {
  const n = cards.size;
  byId('none').hidden = n > 0;
  byId('status').textContent = n === 0 ? 'Nothing waits.' : n === 1 ? 'One call waits.' : `${n} calls wait.`;
  document.title = n === 0 ? 'pagetools: questions' : `(${n}) pagetools: questions`;
}

/** @param {string} id */
function close(id) {
  const shown = cards.get(id);
  if (shown === undefined) return;
  const { element } = shown;
  passFocus(element, element.nextElementSibling ?? element.previousElementSibling ?? byId('waiting'));
  shown.close();
  element.remove();
  cards.delete(id);
}

/** @type {Set<string>} what came since the stream began */
let fresh = new Set();

const inbox = {
  /** @param {import('./api.js').OpenQuestion} q */
  opened(q) {
    fresh.add(q.id);
    if (cards.has(q.id)) return;
    const shown = card(q);
    const since = Date.parse(q.since);
    shown.element.dataset.since = String(since);
    cards.set(q.id, shown);
    const later = [...questions.children].find((e) => Number(/** @type {HTMLElement} */ (e).dataset.since) > since);
    questions.insertBefore(shown.element, later ?? null);
    count();
  },
  /** @param {string} id */
  closed(id) {
    close(id);
    count();
  },
  ready: count,
};

/** Forgets what was open before the stream began, and is not any more. */
function forget() {
  for (const id of cards.keys()) if (!fresh.has(id)) close(id);
  count();
}

const again = 2000; // milliseconds before the next attempt

async function run() {
  try {
    await login();
    if (credential() === '') {
      askCredential('Run "pagetools console" for a link, or give the credential.');
      return;
    }
    fresh = new Set();
    showConnections();
    setTimeout(forget, again); // those of other processes come a moment later
    await watch(inbox);
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
  for (const id of cards.keys()) close(id);
  byId('none').hidden = true;
  byId('status').textContent = why;
  byId('login').hidden = false;
  byId('credential').focus();
}

byId('login').addEventListener('submit', (e) => {
  e.preventDefault();
  keep(/** @type {HTMLInputElement} */ (byId('credential')).value.trim());
  /** @type {HTMLInputElement} */ (byId('credential')).value = '';
  passFocus(byId('login'), byId('waiting'));
  byId('login').hidden = true;
  run();
});

document.addEventListener('visibilitychange', () => {
  if (!document.hidden && credential() !== '') showConnections();
});

run();

page = true;
