// @ts-check
// How many calls each site had in the last minutes, from the server and then from the one stream.

import { signal } from '@preact/signals';

import { callStats } from '../api.js';
import { heard } from '../lent.js';

const minute = 60_000;
export const minutes = 15;

/** @typedef {{node: string, sites: Record<string, {at: string, calls: number, errors: number}[]>}} Stats */

/** The minutes of sites, by process and name, and by their number since 1970. @type {import('@preact/signals').Signal<Map<string, Map<number, {calls: number, errors: number}>>>} */
const known = signal(new Map());

/** @param {Stats} of */
function take({ node, sites }) {
  const next = new Map(known.peek());
  for (const [site, all] of Object.entries(sites)) {
    const key = `${node} ${site}`, kept = new Map(next.get(key));
    for (const { at, calls, errors } of all) kept.set(Math.floor(Date.parse(at) / minute), { calls, errors });
    const old = Math.floor(Date.now() / minute) - minutes;
    for (const at of kept.keys()) if (at <= old) kept.delete(at);
    next.set(key, kept);
  }
  known.value = next;
}

heard.add((name, it) => { if (name === 'stats') take(it); });

/** Asks for the last minutes. What was there stays where nobody answers: a site shows none. */
export async function loadStats() {
  try {
    for (const one of await callStats()) take(one);
  } catch {
    // the stream tells the next ones
  }
}

/**
 * The calls of a site, oldest minute first, and how many of them were errors.
 * @param {string} node @param {string} site @param {number} now
 */
export function callsOf(node, site, now) {
  const kept = known.value.get(`${node} ${site}`), last = Math.floor(now / minute);
  const each = Array.from({ length: minutes }, (_, i) => kept?.get(last - minutes + 1 + i) ?? { calls: 0, errors: 0 });
  return { each: each.map((m) => m.calls), calls: each.reduce((n, m) => n + m.calls, 0), errors: each.reduce((n, m) => n + m.errors, 0) };
}

setInterval(() => { if (!document.hidden && known.peek().size > 0) known.value = new Map(known.peek()); }, 15_000); // minutes pass also without calls
