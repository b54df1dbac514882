// @ts-check
// The keys of the page. Single letters go to places and never answer.

import { keysOf } from './lent.js';
import { go, place } from './route.js';
import { focusNext } from './store.js';
import { letters } from './ui/help.jsx';
import { helpOpen, paletteOpen } from './ui/open.js';
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
  r: () => {
    const because = document.querySelector('.card .because[aria-expanded=false]');
    if (because instanceof HTMLElement) because.click();
    else focus(document.querySelector('.card .reason') ? '.card .reason input' : '.card button.no');
  },
  e: () => /** @type {HTMLElement | null} */ (document.querySelector('.card .edit'))?.click(),
  l: () => /** @type {HTMLElement | null} */ (document.querySelector('.card .open-live'))?.click(),
};

/** @type {Record<string, () => void>} */
const places = {
  i: () => {
    go('inbox');
    focusNext.value = 'inbox';
  },
  s: () => go('sites'),
  c: () => go('calls'),
  e: () => go('sessions'),
  n: () => go('clients'),
  p: () => go('policy'),
  a: () => go('audit'),
};

/** Goes to a link of a list further down, or up. @param {number} by */
function walk(by) {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('main .row-link')]);
  all[Math.min(Math.max(all.findIndex((one) => one === document.activeElement) + by, 0), all.length - 1)]?.focus();
}

/** @type {Record<string, () => void>} */
const lists = {
  j: () => walk(1),
  k: () => walk(-1),
  ArrowDown: () => walk(1),
  ArrowUp: () => walk(-1),
  o: () => { if (document.activeElement?.matches('.row-link')) /** @type {HTMLElement} */ (document.activeElement).click(); },
  '/': () => focus('main .filter'),
  c: () => focus('#copy-as'),
};

/** Closes what a screen shows beside its list; the row has the focus. */
function leave() {
  const { screen, rest: [site, tab, tool], query } = place.value;
  if (screen !== 'sites' || site === undefined) return;
  const row = document.querySelector('main .row-link[aria-current]');
  const node = query.get('node');
  location.hash = tool === undefined ? '#/sites' : `#/${['sites', site, tab ?? 'tools'].map(encodeURIComponent).join('/')}${node === null ? '' : `?node=${encodeURIComponent(node)}`}`;
  if (tool !== undefined && row instanceof HTMLElement) row.focus();
}

document.addEventListener('keydown', (e) => {
  const { target: at } = e;
  const writes = at instanceof HTMLElement && at.closest('input:not([type=checkbox]), textarea, select, [contenteditable], [role=application]') !== null;
  if (e.key.toLowerCase() === 'k' && (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && !document.querySelector('dialog[open]') && !(at instanceof Element && at.closest('[role=application]'))) {
    e.preventDefault();
    paletteOpen.value = true;
    return;
  }
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector('dialog[open]')) return;
  if (e.key === 'Escape' && !e.shiftKey && !(at instanceof Element && at.closest('[role=application]'))) {
    if (place.value.screen === 'inbox') shut();
    else (keysOf[place.value.screen]?.Escape ?? leave)();
    return;
  }
  const arrow = e.key.startsWith('Arrow');
  if (writes || !letters.value && !arrow || arrow && !(at instanceof Element && at.closest('.row, .row-link, .call'))) return;
  const goes = performance.now() - went < 1500;
  went = -Infinity;
  const act = goes ? places[e.key] : e.key === '?' ? () => { helpOpen.value = true; } : place.value.screen === 'inbox' ? inbox[e.key] : (keysOf[place.value.screen] ?? lists)[e.key];
  if (e.key === 'g' && !goes) went = performance.now();
  if (!act) return;
  e.preventDefault();
  act();
});
