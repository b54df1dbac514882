// @ts-check
// What was recorded of pages, as the API has it.

import { ask } from './api.js';

/** @typedef {{since: string, until: string, over: boolean}} Recording */

/** A part of a call: its trace for Playwright's viewer, the network of its page or a picture of that, or a scenario that makes it. @param {string} id @param {'trace' | 'har' | 'scenario' | 'picture/before' | 'picture/after'} what @returns {Promise<Blob>} */
export const ofCall = async (id, what) => (await ask(`/api/calls/${encodeURIComponent(id)}/${what}`)).blob();

/** What the page of a call did, in the order of time. @param {string} id @returns {Promise<import('./calls/did.js').PageEvent[]>} */
export const pageOf = async (id) => (await (await ask(`/api/calls/${encodeURIComponent(id)}/page`)).json()).items;

/** @param {{node: string, id: string}} session @param {string} what */
const ofSession = ({ node, id }, what) => `/api/sessions/${encodeURIComponent(id)}/${what}?${new URLSearchParams({ node })}`;

/** The network of the page of a session, as far as it was recorded. @param {{node: string, id: string}} session @returns {Promise<Blob>} */
export const sessionHAR = async (session) => (await ask(ofSession(session, 'har'))).blob();

/** Records the page of a session, or ends that. @param {{node: string, id: string}} session @param {boolean} on */
export async function recordSession(session, on) {
  await ask(ofSession(session, 'record'), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ on }) });
}
