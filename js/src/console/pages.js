// @ts-check
// When sessions and browsers changed, as the one stream tells it.

import { signal } from '@preact/signals';

/** Grows with each change that the stream tells. */
export const pagesChanged = signal(0);

/** Grows when a process cannot write its records any more, or can again. */
export const auditChanged = signal(0);

/** @typedef {{node: string, id: string, caller: string, site: string, session: string, since: string, lastUsed: string, calls: number, running: number, waiting: number, address: string, title: string, domain: string, recording: import('./api-traces.js').Recording | null}} Session */
/** @typedef {{node: string, name: string, max: number, state: string, kind: string, version: string, since: string | null, tabs: number, opened: number, pss: number, started: number, failed: number, restarts: {at: string, cause: string}[]}} Browser */
/** @typedef {{node: string, held: number, spare: number, queued: number, limit: number, perCaller: number, most: {caller: string, held: number} | null, oldest: {caller: string, since: string} | null, noMemory: boolean}} Pool */
