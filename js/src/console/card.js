// @ts-check
// One question and its answers. What the page says is shown as a quotation of it, apart from what pagetools says.

import { ApiError, answer } from './api.js';
import { make, passFocus } from './dom.js';
import { show } from './live.js';
import { visible } from './text.js';

/** @typedef {import('./api.js').OpenQuestion} OpenQuestion */

const words = {
  approve: ['Allow', 'Refuse'],
  confirm: ['OK', 'Cancel'],
  prompt: ['OK', 'Cancel'],
  interact: ['Done', 'Decline'],
};

/**
 * A card for a question.
 * @param {OpenQuestion} q
 * @returns {{element: HTMLElement, close: () => void}}
 */
export function card(q) {
  const problem = make('p', { className: 'problem', role: 'alert', hidden: true });
  const element = make('article', { tabIndex: -1 }, make('h3', {}, visible(q.title), badge(q)), facts(q));
  element.dataset.id = q.id;
  if (q.detail !== '') element.append(make('p', {}, `${visible(q.origin)} says:`), make('blockquote', {}, visible(q.detail)));
  element.append(make('p', {}, q.secrets?.length ? 'Arguments, all of them; *** is a secret that nobody is shown:' : 'Arguments, all of them:'), make('pre', { tabIndex: 0 }, visible(written(q.input))));
  const [yes, no] = q.form ? ['Submit', 'Do not submit'] : words[/** @type {keyof typeof words} */ (q.kind)] ?? words.confirm;
  const value = make('input', { type: 'text', value: typeof q.schema?.default === 'string' ? q.schema.default : '' });
  value.setAttribute('aria-label', 'Your answer');
  const always = make('input', { type: 'checkbox' });
  const accept = make('button', { type: 'button', className: 'yes' }, yes);
  const refuse = make('button', { type: 'button' }, no);
  let sent = false; // a disabled button would lose the focus
  /** @param {boolean} now */
  const busy = (now) => {
    sent = now;
    for (const button of [accept, refuse]) button.setAttribute('aria-disabled', String(now));
  };
  /** @param {boolean} ok */
  const say = async (ok) => {
    if (sent) return;
    busy(true);
    problem.hidden = true;
    try {
      await answer(q.id, { ok, ...(ok && q.kind === 'prompt' ? { value: value.value } : {}), ...(ok && always.checked ? { always: true } : {}) });
    } catch (e) {
      busy(false);
      problem.hidden = false;
      problem.textContent = e instanceof ApiError ? e.message : 'The answer did not arrive. Try again.';
    }
  };
  accept.addEventListener('click', () => say(true));
  refuse.addEventListener('click', () => say(false));
  const row = make('div', { className: 'answer' });
  if (q.kind === 'prompt') row.append(value);
  row.append(accept, refuse);
  if (q.always) row.append(make('label', {}, always, ' for all further calls of this tool, with any arguments'));
  element.append(row, problem);
  /** @type {ReturnType<typeof show> | undefined} */
  let page;
  if (q.kind === 'interact' && q.picture) {
    const look = make('button', { type: 'button' }, 'Show the page');
    look.addEventListener('click', () => {
      page = show(q.id);
      element.append(page.view);
      passFocus(look, page.view);
      look.remove();
    });
    row.append(look);
  }
  return { element, close: () => page?.close() };
}

/** @type {Record<string, string>} */
const claims = {
  destructiveHint: 'destructive',
  consequentialHint: 'consequential',
  untrustedContentHint: 'returning the words of strangers',
  readOnlyHint: 'read-only',
};

/**
 * What is at stake, at a glance.
 * @param {OpenQuestion} q
 */
function badge(q) {
  const has = (/** @type {string} */ hint) => q.hints?.includes(hint) ?? false;
  const [level, words] = has('destructiveHint') ? ['high', 'destroys something'] : has('consequentialHint') ? ['high', 'has consequences']
    : q.secrets?.length ? ['high', 'has a secret'] : q.kind !== 'approve' ? ['middle', 'the page asks']
      : has('readOnlyHint') && !q.frame ? ['low', 'only reads'] : ['middle', 'may change something'];
  return make('span', { className: `badge ${level}` }, words);
}

/** @param {unknown} input */
function written(input) {
  const line = JSON.stringify(input);
  return line.length <= 100 ? line : JSON.stringify(input, null, 2);
}

/** @param {OpenQuestion} q */
function facts(q) {
  const list = make('dl');
  for (const hint of q.hints ?? []) {
    const grave = hint === 'destructiveHint' || hint === 'consequentialHint';
    list.append(make('div', {}, make('dt', {}, `The ${q.operation ? 'API' : 'page'} marks this tool as`),
      make('dd', { className: grave ? 'grave' : '' }, claims[hint] ?? visible(hint))));
  }
  for (const [name, value] of known(q)) if (value) list.append(make('div', {}, make('dt', {}, name), make('dd', {}, visible(value))));
  return list;
}

/**
 * What a person should know of a call besides its hints and arguments.
 * @param {OpenQuestion} q
 * @returns {[string, string | undefined][]}
 */
export function known(q) {
  const shown = q.page ?? {}, asked = q.operation;
  return [
    ['The site calls itself', asked?.api], ['Request', asked && `${asked.method} ${asked.url}`], ['A call costs', asked?.cost],
    ['Tool', q.tool], ['Adapter', q.adapter && `A tool that your adapter ${q.adapter.name} ${q.adapter.version} adds to ${new URL(q.origin).host}`], ['Site', `${q.site} (${q.origin})`], ['Frame', q.frame], ['Caller', q.caller], ['Session', q.session],
    ['Page', [shown.url, shown.title].filter(Boolean).join(' ')], ['Opened with', shown.config && JSON.stringify(shown.config, null, 1)],
    ['Open until', new Date(q.expiresAt).toLocaleTimeString()],
  ];
}
