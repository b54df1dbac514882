// @ts-check
// When sessions and browsers changed, as the one stream tells it.

import { signal } from '@preact/signals';

import { visible } from './text.js';

/** Grows with each change that the stream tells. */
export const pagesChanged = signal(0);

/** Grows when a process cannot write its records any more, or can again. */
export const auditChanged = signal(0);

/** When a process was missing first, by its name. @type {Map<string, Date>} */
const silent = new Map();

/** Names processes that do not answer, and says since when they do not. @param {string[]} missing */
export function unanswered(missing) {
  for (const name of silent.keys()) if (!missing.includes(name)) silent.delete(name);
  return missing.map((name) => {
    const since = silent.get(name) ?? new Date();
    silent.set(name, since);
    return `${visible(name)} (no answer since ${since.toLocaleTimeString()})`;
  }).join(', ');
}

/** @typedef {{node: string, id: string, caller: string, site: string, session: string, since: string, lastUsed: string, calls: number, running: number, waiting: number, address: string, title: string, domain: string, recording: import('./api-traces.js').Recording | null}} Session */
/** @typedef {{node: string, name: string, max: number, state: string, kind: string, version: string, since: string | null, tabs: number, opened: number, pss: number, started: number, failed: number, restarts: {at: string, cause: string}[]}} Browser */
/** @typedef {{node: string, held: number, spare: number, queued: number, limit: number, perCaller: number, most: {caller: string, held: number} | null, oldest: {caller: string, since: string} | null, noMemory: boolean}} Pool */
