// @ts-check
// What the API says of the policy, and of consent that stands.

import { ask } from './api.js';

/** @typedef {{name: string, level: string, reason: string, decided: boolean}} Layer */
/** @typedef {{known: boolean, level: string, layer: string, reason: string, mode: string, rule: {pattern: string, origin: string, level: string, at: string} | null,
 *   layers: Layer[], standing: boolean, refused: {error: {message: string}} | null}} Decision */
/** @typedef {{node: string, name: string, sites: string[] | null}} ConfiguredCaller */
/** @typedef {{id: string, caller: string, site: string, tool: string, givenBy: string, givenAt: string, page: boolean, state: string}} Grant */
/** @typedef {{node: string, site: string, tool: string}} Unseen */

/**
 * What would become of a call now. Nothing comes of asking.
 * @param {{site: string, tool: string, caller: string, node: string, input?: string}} call
 * @returns {Promise<Decision>}
 */
export const decision = async (call) => (await ask(`/api/policy?${new URLSearchParams(call)}`)).json();

/** The callers of the configuration. @param {string} node @returns {Promise<ConfiguredCaller[]>} */
export const callers = async (node) => (await (await ask(`/api/callers?${new URLSearchParams({ node, limit: '1000' })}`)).json()).items;

/** Consent that stands, the newest first. @returns {Promise<{items: Grant[], next: string | null}>} */
export const grants = async () => (await ask('/api/grants?limit=1000')).json();

/** Takes back consent that stands. @param {string} id */
export const revoke = (id) => ask(`/api/grants/${encodeURIComponent(id)}`, { method: 'DELETE' });

/** The tools that nobody has seen since consent was given on their site. @returns {Promise<{items: Unseen[], missing?: {node: string}[]}>} */
export const unseen = async () => (await ask('/api/policy/unseen?limit=1000')).json();
