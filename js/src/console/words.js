// @ts-check
// What questions are called, for the operators' page and for the card of MCP Apps: one word for one thing.

import { isSecretName } from './form/secret.js';

/** @typedef {'approve' | 'confirm' | 'prompt' | 'interact'} Kind */
/** @typedef {import('./api.js').OpenQuestion} OpenQuestion */

/** The words of the buttons, and what an assistant is told. */
const words = {
  approve: ['Allow', 'Refuse', 'I agreed.', 'I refused.'],
  confirm: ['OK', 'Cancel', 'I answered OK.', 'I answered Cancel.'],
  prompt: ['OK', 'Cancel', 'I answered.', 'I answered Cancel.'],
  interact: ['Done', 'Decline', 'I am done in the page.', 'I declined.'],
  form: ['Submit', 'Do not submit', 'I agreed to submit the form.', 'I did not submit the form.'],
};

/**
 * The words of a question: yes, no, and what an assistant is told of each.
 * @param {{kind: string, form?: boolean}} q
 */
export const wordsOf = (q) => (q.form ? words.form : words[/** @type {Kind} */ (q.kind)] ?? words.confirm);

export const argumentsTitle = 'Arguments, all of them';

/**
 * JSON for people: on one line when it is short.
 * @param {unknown} input
 */
export function written(input) {
  const line = JSON.stringify(input);
  return line.length <= 100 ? line : JSON.stringify(input, null, 2);
}

/** The value with which a field for an answer begins. @param {{schema?: {default?: unknown}}} q */
export const given = (q) => (typeof q.schema?.default === 'string' ? q.schema.default : '');

/**
 * What is at stake: a rank (0 is the gravest), a shape and a word.
 * @param {OpenQuestion} q
 * @returns {{rank: number, shape: string, word: string}}
 */
export function severity(q) {
  const has = (/** @type {string} */ hint) => q.hints?.includes(hint) ?? false;
  if (has('destructiveHint')) return { rank: 0, shape: '▲', word: 'destructive' };
  if (has('consequentialHint')) return { rank: 0, shape: '▲', word: 'consequential' };
  if (q.secrets?.length) return { rank: 0, shape: '▲', word: 'has a secret' };
  if (q.kind !== 'approve') return { rank: 2, shape: '●', word: 'the page waits' };
  if (has('readOnlyHint') && !q.frame) return { rank: 3, shape: '●', word: 'only reads' };
  return { rank: 1, shape: '◆', word: 'may change' };
}

/** @type {Record<string, string>} */
const claims = {
  destructiveHint: 'destructive',
  consequentialHint: 'consequential',
  untrustedContentHint: 'returning the words of strangers',
  readOnlyHint: 'read-only',
};

/**
 * What a person should know of a call besides its title and arguments.
 * @param {OpenQuestion} q
 * @returns {[string, string][]}
 */
export function known(q) {
  const shown = q.page ?? {}, asked = q.operation, by = asked ? 'API' : 'page';
  const { adapter } = q;
  /** @type {[string, string | undefined][]} */
  const all = [
    ...(q.hints ?? []).map((hint) => /** @type {[string, string]} */ ([`The ${by} marks this tool as`, claims[hint] ?? hint])),
    ['The site calls itself', asked?.api], ['Request', asked && `${asked.method} ${asked.url}`], ['The API says that a call costs', asked?.cost],
    ['Tool', q.tool], ['Adapter', adapter && `A tool that your adapter ${adapter.name} ${adapter.version} adds to ${new URL(q.origin).host}`],
    ['Frame', q.frame], ['Page', [shown.url, shown.title].filter(Boolean).join(' ')], ['Opened with', shown.config && JSON.stringify(shown.config, null, 1)],
  ];
  return /** @type {[string, string][]} */ (all.filter(([, value]) => value));
}

/**
 * The value with •••• in place of what sensitive names have.
 * @param {unknown} value
 * @returns {unknown}
 */
export function masked(value) {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null || /** @type {any} */ (JSON).isRawJSON?.(value)) return value;
  const copy = Object.create(null);
  for (const [name, member] of Object.entries(value)) copy[name] = isSecretName(name) && member !== '***' ? '••••' : masked(member);
  return copy;
}

/** @param {number} ms that are left @returns {string} minutes and seconds */
export function left(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`;
}
