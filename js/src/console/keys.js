// @ts-check
// The keys of the page. Single letters go to places and never answer.

import { note, place } from './route.js';
import { focusNext } from './store.js';
import { helpOpen, letters } from './ui/help.jsx';
import { open, shut, step } from './screens/inbox.jsx';

let went = -Infinity; // when g was pressed

/** @param {string} selector */
const focus = (selector) => /** @type {HTMLElement | null} */ (document.querySelector(selector))?.focus();

/** @type {Record<string, () => void>} */
const inbox = {
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  o: () => open(document.activeElement?.closest('.row')?.getAttribute('data-id') ?? ''),
  a: () => focus('.card button.yes'),
  r: () => focus('.card button.no'),
  l: () => /** @type {HTMLElement | null} */ (document.querySelector('.card .open-live'))?.click(),
};

/** @type {Record<string, () => void>} */
const places = {
  i: () => {
    note('inbox');
    focusNext.value = 'inbox';
  },
  n: () => note('clients'),
};

document.addEventListener('keydown', (e) => {
  const { target: at } = e;
  const writes = at instanceof HTMLElement && at.closest('input:not([type=checkbox]), textarea, select, [contenteditable], [role=application]') !== null;
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector('dialog[open]')) return;
  if (e.key === 'Escape' && !e.shiftKey && !(at instanceof Element && at.closest('[role=application]'))) {
    shut();
    return;
  }
  const arrow = e.key.startsWith('Arrow');
  if (writes || !letters.value && !arrow || arrow && !(at instanceof Element && at.closest('.row'))) return;
  const goes = performance.now() - went < 1500;
  went = -Infinity;
  const act = goes ? places[e.key] : e.key === '?' ? () => { helpOpen.value = true; } : place.value.screen === 'inbox' ? inbox[e.key] : undefined;
  if (e.key === 'g' && !goes) went = performance.now();
  if (!act) return;
  e.preventDefault();
  act();
});
