// @ts-check
// What the API says of the versions of a site's tools.

import { ask } from './api.js';

/** @typedef {{version: string, severity: string, since: string | null, current: boolean}} Version */
/** @typedef {{tool: string, before?: string, path: string, was: string, is: string, severity: string, what: string, reason: string}} Change */
/** @typedef {{from: string, to: string, severity: string, changes: Change[], more: number}} Difference */

/** @param {{name: string, node: string}} site @param {string} [pair] */
const under = ({ name, node }, pair = '') => `/api/sites/${encodeURIComponent(name)}/versions${pair && `/${encodeURIComponent(pair)}`}?${new URLSearchParams({ node, ...(pair ? {} : { limit: '1000' }) })}`;

/** The versions that are kept, the newest first. @param {{name: string, node: string}} site @returns {Promise<Version[]>} */
export const versions = async (site) => (await (await ask(under(site))).json()).items;

/** What changed between two of them, by meaning. @param {{name: string, node: string}} site @param {string} from @param {string} to @returns {Promise<Difference>} */
export const difference = async (site, from, to) => (await ask(under(site, `${from}..${to}`))).json();
