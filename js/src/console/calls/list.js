// @ts-check
// The calls that the page knows: those that the server gave for the filter, and what the one stream says since.

import { batch, computed, effect, signal } from '@preact/signals';

import { callRecords } from '../api.js';
import { heard } from '../lent.js';
import { place, rewrite } from '../route.js';
import { link } from '../store.js';
import { readFilter } from './filter.js';

/** @typedef {import('./filter.js').Call} Call */

const kept = 10_000; // calls
const typing = 200; // milliseconds after which the server is asked
const drawn = 250; // milliseconds for which news is gathered

/** All that are loaded, newest first. @type {import('@preact/signals').Signal<Call[]>} */
const loaded = signal(/** @type {Call[]} */ ([]));
/** What came while the list must not move, by id. @type {import('@preact/signals').Signal<Map<string, Call>>} */
const fresh = signal(/** @type {Map<string, Call>} */ (new Map()));
/** Whether there is anything to say of the list. */
export const settled = signal(false);
/** @type {import('@preact/signals').Signal<unknown>} */
export const problem = signal(/** @type {unknown} */ (undefined));
/** Processes that did not answer. @type {import('@preact/signals').Signal<string[]>} */
export const missing = signal(/** @type {string[]} */ ([]));
export const paused = signal(false);
export const atTop = signal(true);
/** Where the list goes on: '' is nowhere. */
const next = signal('');
/** The filter as it is written, also while it is typed. */
export const query = signal(place.peek().query.get('q') ?? '');

const wanted = computed(() => readFilter(query.value));
/** What is wrong with the filter; '' is nothing. */
export const wrong = computed(() => (typeof wanted.value === 'string' ? wanted.value : ''));
/** The calls of the list. */
export const shown = computed(() => only(loaded.value));
/** How many are new, and wait above the list. */
export const waiting = computed(() => only([...fresh.value.values()]).length);
/** Whether the server has older ones. */
export const more = computed(() => next.value !== '' && loaded.value.length < kept);

/** @param {Call[]} all @returns {Call[]} */
function only(all) {
  const want = wanted.value, now = Date.now();
  return typeof want === 'string' ? all : all.filter((c) => want(c, now));
}

/** What a time has below a millisecond. @param {string} at */
const rest = (at) => Number((/\.\d{3}(\d*)/.exec(at)?.[1] ?? '').padEnd(6, '0'));

/** As the server orders them. @param {Call} a @param {Call} b */
const age = (a, b) => Date.parse(b.began) - Date.parse(a.began) || rest(b.began) - rest(a.began) || (a.call < b.call ? 1 : -1);

let asked = 0;

/** Asks for the newest calls of the filter. */
export async function load() {
  const mine = ++asked;
  if (wrong.peek() !== '') {
    settled.value = true;
    return;
  }
  try {
    const list = await callRecords(query.peek(), '');
    if (mine !== asked) return;
    batch(() => {
      loaded.value = list.items;
      fresh.value = new Map();
      next.value = list.next ?? '';
      missing.value = (list.missing ?? []).map((/** @type {{node: string}} */ m) => m.node);
      problem.value = undefined;
      settled.value = true;
    });
  } catch (e) {
    if (mine === asked) batch(() => {
      problem.value = e;
      settled.value = true;
    });
  }
}

let goingOn = -1; // for which question older calls are on their way

/** Asks for older calls, when there are some. */
export async function older() {
  if (goingOn === asked || !more.peek() || wrong.peek() !== '') return;
  const mine = goingOn = asked;
  try {
    const list = await callRecords(query.peek(), next.peek());
    if (mine !== asked) return;
    const known = new Set(loaded.peek().map((c) => c.call));
    batch(() => {
      loaded.value = [...loaded.peek(), ...list.items.filter((/** @type {Call} */ c) => !known.has(c.call))];
      next.value = list.next ?? '';
    });
  } catch (e) {
    if (mine === asked) problem.value = e;
  } finally {
    if (goingOn === mine) goingOn = -1;
  }
}

/** Moves what is new into the list. */
export function settle() {
  if (fresh.peek().size === 0) return;
  const old = loaded.peek(), known = new Set(old.map((c) => c.call));
  const came = [...fresh.peek().values()].filter((c) => !known.has(c.call)).sort(age);
  const all = [...came, ...old].slice(0, kept);
  if (came.length > 0 && old.length > 0 && age(came[came.length - 1], old[0]) > 0) all.sort(age);
  batch(() => {
    loaded.value = all;
    fresh.value = new Map();
  });
}

/** @type {Map<string, Call>} */
let news = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let soon;

heard.add((name, it) => {
  if ((name === 'snapshot' && it.reset || name === 'node') && settled.peek()) load(); // more happened than the stream tells
  if (!name.startsWith('call.') || !settled.peek() || paused.peek()) return;
  news.set(it.call, it);
  soon ??= setTimeout(draw, drawn);
});

/** Takes what the stream said. */
function draw() {
  soon = undefined;
  const came = news;
  news = new Map();
  batch(() => {
    if (loaded.peek().some((c) => came.has(c.call))) {
      loaded.value = loaded.peek().map((c) => {
        const now = came.get(c.call);
        came.delete(c.call);
        return now ?? c;
      });
    }
    if (came.size === 0) return;
    const all = new Map(fresh.peek());
    for (const [id, c] of came) all.set(id, c);
    for (const id of all.keys()) if (all.size > kept) all.delete(id);
    fresh.value = all;
    if (atTop.peek()) settle();
  });
}

/** Stops, or goes on with, what the stream says. */
export function pause() {
  paused.value = !paused.peek();
  if (!paused.peek()) load();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let later;

/** Takes another filter: of what is loaded at once, and of the server a moment later. @param {string} q */
export function filter(q) {
  query.value = q;
  clearTimeout(later);
  later = setTimeout(() => {
    later = undefined;
    address({ q });
    load();
  }, typing);
}

/** Writes the filter, or the chosen call, into the address. @param {{q?: string, sel?: string}} to */
export function address(to) {
  const now = new URLSearchParams(place.peek().query);
  for (const [name, value] of Object.entries(to)) {
    if (value === '') now.delete(name);
    else now.set(name, value);
  }
  rewrite(`#/calls${now.size ? `?${now}` : ''}`);
}

// An address that somebody else wrote: a link, a step back.
effect(() => {
  const { screen, query: given } = place.value;
  if (screen !== 'calls') return;
  const q = given.get('q') ?? '';
  if (q !== query.peek() && later === undefined) {
    query.value = q;
    load();
  }
});
effect(() => {
  if (link.value.state === 'login') batch(() => {
    loaded.value = [];
    fresh.value = new Map();
    settled.value = false;
  });
});
