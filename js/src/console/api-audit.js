// @ts-check
// What the API says of the audit.

import { ask } from './api.js';

/** @typedef {{chain: string, records: number, checkpoint: string, living: boolean, bad: boolean}} Chain */
/** @typedef {{chain?: string, record: number, problem: string, detail: string}} Break */
/** @typedef {{chain: string, record: number, time: string, call: string, caller: string, site: string, tool: string}} Intent */
/** @typedef {{ok: boolean, records: number, checkpoints: number, publicKey: string, chains: Chain[] | null, chainCount: number, bad?: Break[], unsigned: number, removed: {time: string}[] | null,
 *   open: Intent[] | null, openCount: number, lost: number, torn: number, others: string[] | null}} Report */
/** @typedef {{kept: boolean, writers: {node: string, healthy: boolean}[], missing?: {node: string}[], running: {since: string, by: string, read: number, of: number} | null,
 *   last: {at: string, by: string, took: number, report: Report | null, error?: string} | null}} Audit */
/** @typedef {{chain: string, record: number, kind: string, time: string, site?: string, tool?: string, caller?: string, decision?: string, rule?: string, approval?: string, approver?: string, persons?: string,
 *   definition?: string, arguments?: string, outcome?: string, code?: string, reason?: string, result?: string}} AuditRecord */

/** How the audit is. @returns {Promise<Audit>} */
export const audit = async () => (await ask('/api/audit')).json();

/** Begins to verify it, unless that goes on. */
export const verify = () => ask('/api/audit/verify', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });

/** The records of a call. @param {string} call @returns {Promise<AuditRecord[]>} */
export const recordsOf = async (call) => (await (await ask(`/api/audit?${new URLSearchParams({ call })}`)).json()).items ?? [];
