// @ts-check
// What the page knows: the questions that are open, in the order in which they are shown, and those that were answered.

import { batch, computed, effect, signal } from '@preact/signals';

import { severity } from './words.js';

/** @typedef {import('./api.js').OpenQuestion} OpenQuestion */
/** @typedef {{q: OpenQuestion, over?: string, mine?: string}} Entry over says how it ended, mine what this person answered */
/** @typedef {{title: string, site: string, what: string, at: number}} Ended */
/** @typedef {{state: 'loading' | 'live' | 'offline' | 'login', why: string, since: number, again: number}} Link */

const linger = 5000; // milliseconds that a question stays which somebody else answered
const lastEnded = 20;
const flood = 5; // open questions of one site or caller; with more they are a group

/** @type {import('@preact/signals').Signal<Link>} */
export const link = signal(/** @type {Link} */ ({ state: 'loading', why: '', since: Date.now(), again: 0 }));
/** @type {import('@preact/signals').Signal<Map<string, Entry>>} */
export const entries = signal(new Map());
/** @type {import('@preact/signals').Signal<string[]>} the order of the rows */
export const order = signal(/** @type {string[]} */ ([]));
/** @type {import('@preact/signals').Signal<string[]>} those that came while a row must not move */
export const arrived = signal(/** @type {string[]} */ ([]));
export const opened = signal('');
/** @type {import('@preact/signals').Signal<Ended[]>} */
export const ended = signal(/** @type {Ended[]} */ ([]));
/** @type {import('@preact/signals').Signal<Set<string>>} groups that a person unfolded */
export const unfolded = signal(new Set());
/** Where the focus goes after the next drawing; '' is nowhere. */
export const focusNext = signal('');
export const now = signal(Date.now());

/** @typedef {import('./api.js').Site & {seen: {at: number, added: string[], removed: string[]}[]}} KnownSite seen has the changes of its tools in the last hour */

/** The sites of all processes, by process and name. @type {import('@preact/signals').Signal<Map<string, KnownSite>>} */
export const sites = signal(new Map());
/** Whether the sites are known. */
export const settled = signal(false);
/** Who uses the page; undefined until that is known. @type {import('@preact/signals').Signal<import('./api.js').Me | undefined>} */
export const me = signal(/** @type {import('./api.js').Me | undefined} */ (undefined));
/** @typedef {{call: string, stage: string, at: string}} CallNews */
/** @type {Map<string, CallNews>} */
const newest = new Map();
/** The newest news of calls, by id: one map, in another object with each change. */
export const calls = signal({ byId: newest });

const keptCalls = 200;

/** Takes what a call is now. @param {CallNews} call */
export function noteCall(call) {
  newest.delete(call.call);
  newest.set(call.call, call);
  for (const old of newest.keys()) {
    if (newest.size <= keptCalls) break;
    newest.delete(old);
  }
  calls.value = { byId: newest };
}

/** What is read aloud next. @type {import('@preact/signals').Signal<string[]>} */
export const news = signal(/** @type {string[]} */ ([]));

const hour = 3_600_000;

/** Takes what a process says of all its sites. @param {string} node @param {import('./api.js').Site[]} all */
export function replaceSites(node, all) {
  const next = new Map(sites.value);
  for (const [key, s] of sites.value) if (s.node === node) next.delete(key);
  for (const s of all) next.set(`${node} ${s.name}`, { ...s, seen: sites.value.get(`${node} ${s.name}`)?.seen ?? [] });
  sites.value = next;
}

/** Takes a change of a site's tools. @param {{node: string, site: import('./api.js').Site, added: string[], removed: string[], changed: string[]}} e */
export function changeSite({ node, site, added, removed }) {
  const key = `${node} ${site.name}`, at = Date.now();
  const seen = [...(sites.value.get(key)?.seen ?? []).filter((one) => at - one.at < hour).slice(-99), { at, added, removed }];
  sites.value = new Map(sites.value).set(key, { ...site, seen });
  const words = [[added.length, 'added'], [removed.length, 'removed']].filter(([n]) => n).map(([n, what]) => `${n} ${n === 1 ? 'tool' : 'tools'} ${what}`);
  if (words.length > 0) news.value = [...news.value, `${words.join(', ')} on ${site.name}.`].slice(-3);
}

const openNow = computed(() => [...entries.value.values()].filter((e) => e.over === undefined));
/** How many wait for a person. */
export const waiting = computed(() => openNow.value.length);
/** How many pages wait for a person who acts in them. */
export const acting = computed(() => openNow.value.filter(({ q }) => q.kind === 'interact').length);

/** @param {string} a @param {string} b */
function before(a, b) {
  const x = entries.value.get(a)?.q, y = entries.value.get(b)?.q;
  if (!x || !y) return 0;
  return severity(x).rank - severity(y).rank || Date.parse(x.expiresAt) - Date.parse(y.expiresAt) || (a < b ? -1 : 1);
}

/** Shows what arrived, everything in its order. */
export function settle() {
  batch(() => {
    order.value = [...order.value, ...arrived.value].sort(before);
    arrived.value = [];
  });
}

/** Whether a person is at the rows: then none of them moves. */
const held = () => document.querySelector('.rows:hover, .rows:focus-within, .card:focus-within, .card:hover') !== null;

/** @param {OpenQuestion} q */
export function add(q) {
  if (entries.value.has(q.id)) return;
  batch(() => {
    entries.value = new Map(entries.value).set(q.id, { q });
    arrived.value = [...arrived.value, q.id];
    if (!held()) settle();
  });
}

/** Takes what an open question is now. @param {OpenQuestion} q */
export function change(q) {
  const entry = entries.value.get(q.id);
  if (entry !== undefined) entries.value = new Map(entries.value).set(q.id, { ...entry, q });
}

/** @typedef {{key: string, word: string, of: 'site' | 'caller', ids: string[]}} Group */

/**
 * The rows: ids, and groups of those of which one site or caller has too many open.
 * @type {import('@preact/signals').ReadonlySignal<(string | Group)[]>}
 */
export const rows = computed(() => {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const of of /** @type {const} */ (['site', 'caller'])) {
    for (const id of order.value) {
      const q = entries.value.get(id)?.q;
      if (!q) continue;
      const key = `${of} ${q[of]}`;
      const group = groups.get(key) ?? { key, word: q[of], of, ids: [] };
      group.ids.push(id);
      groups.set(key, group);
    }
  }
  /** @type {(string | Group)[]} */
  const shown = [];
  const seen = new Set();
  for (const id of order.value) {
    if (seen.has(id)) continue;
    const q = entries.value.get(id)?.q;
    const group = q && [groups.get(`site ${q.site}`), groups.get(`caller ${q.caller}`)].find((g) => g && g.ids.length > flood);
    if (!group) {
      shown.push(id);
      continue;
    }
    const rest = { ...group, ids: group.ids.filter((other) => !seen.has(other)) };
    for (const other of rest.ids) seen.add(other);
    shown.push(rest);
    if (unfolded.value.has(group.key)) shown.push(...rest.ids);
  }
  return shown;
});

/** The ids of the rows that can be opened now. */
export const reachable = computed(() => /** @type {string[]} */ (rows.value.filter((row) => typeof row === 'string')));

/**
 * Takes a question out of the rows. What had the focus hands it to the neighbour.
 * @param {string} id
 */
function drop(id) {
  const had = document.activeElement?.closest('[data-id]')?.getAttribute('data-id') === id;
  batch(() => {
    const at = reachable.value.indexOf(id);
    const all = new Map(entries.value);
    all.delete(id);
    entries.value = all;
    order.value = order.value.filter((other) => other !== id);
    arrived.value = arrived.value.filter((other) => other !== id);
    if (order.value.length === 0) settle();
    const list = reachable.value;
    const next = list[Math.min(Math.max(at, 0), list.length - 1)] ?? '';
    if (opened.value === id) opened.value = next;
    if (had) focusNext.value = next === '' ? 'inbox' : opened.value === next ? 'card' : next;
  });
}

/**
 * Ends a question: at once when this person answered it or another one is gone, else after a moment with words about how.
 * @param {string} id @param {string} [how] in our words; what they repeat of others is made visible
 */
export function close(id, how) {
  const entry = entries.value.get(id);
  if (entry === undefined || entry.over !== undefined) return;
  const late = Date.parse(entry.q.expiresAt) - 1000 <= Date.now();
  const what = entry.mine ?? how ?? (late ? 'Nobody answered in time: that counts as declined' : 'It is not asked any more');
  ended.value = [{ title: entry.q.title, site: entry.q.site, what, at: Date.now() }, ...ended.value].slice(0, lastEnded);
  if (entry.mine !== undefined) {
    drop(id);
    return;
  }
  entries.value = new Map(entries.value).set(id, { ...entry, over: `${what}, ${new Date().toLocaleTimeString()}` });
  setTimeout(drop, linger, id);
}

/** Notes what this person answers, or takes it back. @param {string} id @param {string | undefined} mine */
export function answering(id, mine) {
  const entry = entries.value.get(id);
  if (entry !== undefined) entries.value = new Map(entries.value).set(id, { ...entry, mine });
}

/** Forgets everything: the credential ended. */
export function forget() {
  batch(() => {
    entries.value = new Map();
    order.value = arrived.value = [];
    opened.value = '';
    sites.value = new Map();
    settled.value = false;
    newest.clear();
    calls.value = { byId: newest };
    me.value = undefined;
  });
}

const counts = computed(() => waiting.value > 0 || link.value.state === 'offline');
effect(() => {
  if (!counts.value) return undefined; // a page where nothing waits is not woken
  const timer = setInterval(() => { if (!document.hidden) now.value = Date.now(); }, 1000);
  return () => clearInterval(timer);
});
