// @ts-check
// What questions are called, for the operators' page and for the card of MCP Apps: one word for one thing.

import { isSecretName } from './form/secret.js';
import { visible } from './text.js';

/** @typedef {'approve' | 'confirm' | 'prompt' | 'interact'} Kind */
/** @typedef {import('./api.js').OpenQuestion} OpenQuestion */

/** The words of the buttons, what an assistant is told, and what became of it. */
const words = {
  approve: ['Allow', 'Refuse', 'I agreed.', 'I refused.', 'Allowed', 'Refused'],
  confirm: ['OK', 'Cancel', 'I answered OK.', 'I answered Cancel.', 'Answered OK', 'Answered Cancel'],
  prompt: ['OK', 'Cancel', 'I answered.', 'I answered Cancel.', 'Answered OK', 'Answered Cancel'],
  interact: ['Done', 'Decline', 'I am done in the page.', 'I declined.', 'Done', 'Declined'],
  form: ['Submit', 'Do not submit', 'I agreed to submit the form.', 'I did not submit the form.', 'Submitted', 'Not submitted'],
};

/**
 * The words of a question: yes, no, and what an assistant is told of each.
 * @param {{kind: string, form?: boolean}} q
 */
export const wordsOf = (q) => (q.form ? words.form : words[/** @type {Kind} */ (q.kind)] ?? words.confirm);

/** What the button says that lets a call run: of a grave one also what it is. @param {OpenQuestion} q */
export function yesOf(q) {
  const [yes] = wordsOf(q), { rank, word } = severity(q);
  if (q.kind !== 'approve' || rank !== 0) return yes;
  return word === secret ? `${yes} this call with a secret` : `${yes} this ${word} call`;
}

/** The names of those who are no person, by where they answer. @type {Record<string, string>} */
const places = { terminal: 'at a terminal', socket: 'at a terminal', console: 'on this page', node: 'at another node' };
const card = ' via card', person = 'console:';

/**
 * How somebody ended a question, and where as far as that is known.
 * @param {{kind: string, form?: boolean}} q @param {{answeredBy: string, ok?: boolean | null}} how
 */
export function endedBy(q, { answeredBy: by, ok }) {
  const what = typeof ok === 'boolean' ? wordsOf(q)[ok ? 4 : 5] : 'Answered';
  const name = (/** @type {string} */ text) => visible(text.slice(0, 64).toWellFormed());
  if (Object.hasOwn(places, by)) return `${what} ${places[by]}`;
  if (by.endsWith(card)) return `${what} on a card of ${name(by.slice(0, -card.length))}`;
  return by.startsWith(person) ? `${what} by ${name(by.slice(person.length))} on this page` : `${what} by ${name(by)}`;
}

/** Whose words a question repeats. @param {OpenQuestion} q */
export function speaker(q) {
  const of = visible(q.site.slice(0, 64).toWellFormed());
  if (q.operation) return `API of ${of} says`;
  return q.adapter && q.kind === 'approve' ? `Your adapter for ${of} says` : `Page of ${of} says`;
}

/**
 * The title of a question in parts: what a stranger says in front, and the names in our words.
 * @param {OpenQuestion} q
 * @returns {{theirs: string, ours: string, tool: string, site: string}} without a tool, all is in ours
 */
export function titled(q) {
  const run = `Run ${q.tool} on ${q.site}?`;
  if (q.kind !== 'approve' || !q.title.endsWith(run)) return { theirs: '', ours: q.title, tool: '', site: '' };
  return { theirs: q.title.slice(0, -run.length).trim(), ours: 'Run', tool: q.tool, site: q.site };
}

/** Why a person is asked, in our words; '' where that is not known. @param {OpenQuestion} q */
export const whyAsked = ({ site, why = [] }) => (why.length === 0 ? '' : `site "${site}": ${why.map(({ reason, level }) => `${reason} = ${level}`).join('; ')}`);

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

const secret = 'has a secret';

/**
 * What is at stake: a rank (0 is the gravest), a shape and a word.
 * @param {OpenQuestion} q
 * @returns {{rank: number, shape: string, word: string}}
 */
export function severity(q) {
  const has = (/** @type {string} */ hint) => q.hints?.includes(hint) ?? false;
  if (has('destructiveHint')) return { rank: 0, shape: '▲', word: 'destructive' };
  if (has('consequentialHint')) return { rank: 0, shape: '▲', word: 'consequential' };
  if (q.secrets?.length) return { rank: 0, shape: '▲', word: secret };
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
 * What a person should know of a call besides its title and arguments; the third is true of what a stranger wrote.
 * @param {OpenQuestion} q
 * @returns {[string, string, boolean][]}
 */
export function known(q) {
  const shown = q.page ?? {}, asked = q.operation, by = asked ? 'API' : 'page';
  const { adapter } = q;
  /** @type {[string, string | undefined, boolean?][]} */
  const all = [
    ...(q.hints ?? []).map((hint) => /** @type {[string, string]} */ ([`The ${by} marks this tool as`, claims[hint] ?? hint])),
    ['The site calls itself', asked?.api, true], ['Request', asked && `${asked.method} ${asked.url}`], ['The API says that a call costs', asked?.cost, true],
    ['Tool', q.tool], ['Adapter', adapter && `A tool that your adapter ${adapter.name} ${adapter.version} adds to ${new URL(q.origin).host}`],
    ['Frame', q.frame, true], ['Page', shown.url], ['The page calls itself', shown.title, true], ['Opened with', shown.config && JSON.stringify(shown.config, null, 1)],
  ];
  return all.flatMap(([name, value, theirs = false]) => (value ? [[name, value, theirs]] : []));
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
