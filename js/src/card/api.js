// @ts-check
// What the card asks of pagetools, through the host: the one tool pagetools_card.

import { ask } from './host.js';
import { proof } from './proof.js';

const key = document.documentElement.dataset.key ?? '';

/** @typedef {{name: string, text: string}} Fact */
/**
 * @typedef {{kind: 'approve' | 'confirm' | 'prompt' | 'interact', title: string, detail: string, schema?: {default?: unknown}, tool: string, site: string,
 *   origin: string, form?: boolean, facts: Fact[], input: unknown, inputText?: string, expiresAt: string}} Question
 */
/** @typedef {{state: 'input_required' | 'working' | 'over', question?: Question, ticket?: string, picture?: boolean}} State */
/** @typedef {{type: string, data?: string, mimeType?: string, text?: string}} Block */

/** Says why pagetools refused. The code is missing where a host keeps it. */
export class Refusal extends Error {
  /** @param {string} message @param {string} code */
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/**
 * @param {string} ticket @param {string} op @param {object} rest
 * @returns {Promise<{blocks: Block[], data: any}>}
 */
export async function request(ticket, op, rest) {
  const args = { ticket, op, proof: proof(key, ticket, op, rest), ...rest };
  const result = await ask('tools/call', { name: 'pagetools_card', arguments: args });
  /** @type {Block[]} */
  const blocks = Array.isArray(result.content) ? result.content : [];
  if (result.isError) {
    const code = result._meta?.['pagetools/error']?.code;
    throw new Refusal(blocks.map((b) => b.text ?? '').join(' ') || 'pagetools refused this.', typeof code === 'string' ? code : '');
  }
  return { blocks, data: result.structuredContent };
}
