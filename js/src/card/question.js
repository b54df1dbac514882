// @ts-check
// One call that waits: its question, as it is now, and what its person says.

import { make } from '../console/dom.js';
import { visible } from '../console/text.js';
import { argumentsTitle, given, wordsOf, written } from '../console/words.js';
import { Refusal, request } from './api.js';
import { onPress } from './hand.js';
import { ask } from './host.js';
import { picture } from './picture.js';

/** @typedef {import('./api.js').Question} Question */
/** @typedef {import('./api.js').State} State */

const patience = 20_000; // milliseconds that one request waits for a change
const again = 5000; // milliseconds until the next attempt

/** @param {number} ms */
const rest = (ms) => new Promise((r) => setTimeout(r, ms));

/** @param {Question} q what tells it from the next one of the call */
const nameOf = (q) => JSON.stringify([q.kind, q.title, q.detail, q.expiresAt]);

/** Tells the assistant. @param {string} text @returns {Promise<boolean>} whether the host passes it on */
async function tellAssistant(text) {
  const content = [{ type: 'text', text }];
  const [, said] = await Promise.allSettled([ask('ui/update-model-context', { content }), ask('ui/message', { role: 'user', content })]);
  return said.status === 'fulfilled' && said.value.isError !== true;
}

/**
 * Follows a call until it is over.
 * @param {string} ticket
 * @param {string} link where the operators' page is; '' when that is nowhere
 */
export function follow(ticket, link) {
  const element = make('section');
  let shown = ''; // the name of the question
  /** @type {Question | undefined} that was open last */
  let last;
  let acted = false; // the person did something in its page
  let answered = '';
  let stopped = false;
  /** @type {ReturnType<typeof picture> | undefined} */
  let page;

  /** @param {...(Node | string)} parts */
  const line = (...parts) => {
    page?.close();
    page = undefined;
    shown = '';
    element.replaceChildren(make('p', { className: 'line', role: 'status' }, ...parts));
  };
  /** @param {string} what @param {Question} q */
  const done = async (what, q) => {
    answered = what;
    line('Answered. Tell the assistant to go on.');
    const passed = await tellAssistant(`${what} Call ${visible(q.tool)} again with the same arguments: it goes on, and does not run twice.`);
    if (passed && answered === what && shown === '') line(`Answered: ${what}`);
  };

  /** @param {State} s */
  const show = (s) => {
    const q = s.question;
    if (s.state !== 'input_required' || q === undefined) {
      const before = last;
      last = undefined;
      if (before !== undefined && answered === '' && acted) done(wordsOf(before)[2], before);
      else if (answered === '' && s.state !== 'over') line('The call goes on.');
      else if (answered === '') line(before !== undefined && isLate(before) ? tooLate : 'Nothing waits for you here.');
      return;
    }
    ticket = s.ticket ?? ticket;
    if (shown === nameOf(q)) return;
    page?.close();
    shown = nameOf(q);
    last = q;
    acted = false;
    answered = '';
    element.replaceChildren(...asked(q, s.picture === true));
  };

  /** @param {Question} q @param {boolean} seen */
  const asked = (q, seen) => {
    const problem = make('p', { className: 'problem', role: 'alert', hidden: true });
    /** @param {string} text */
    const fail = (text) => {
      problem.hidden = text === '';
      problem.textContent = visible(text);
    };
    const [yes, no] = wordsOf(q);
    const value = make('input', { type: 'text', value: given(q) });
    value.setAttribute('aria-label', 'Your answer');
    const accept = make('button', { type: 'button', className: 'yes' }, yes);
    const refuse = make('button', { type: 'button' }, no);
    let sent = false;
    /** @param {boolean} ok */
    const say = async (ok) => {
      if (sent) return;
      sent = true;
      fail('');
      try {
        const typed = ok && q.kind === 'prompt' ? { value: value.value.toWellFormed() } : {};
        const { data } = await request(ticket, 'answer', { ok, ...typed });
        done(wordsOf(q)[ok ? 2 : 3], q);
        show(data);
      } catch (e) {
        sent = false;
        fail(e instanceof Refusal ? e.message : 'The answer did not arrive. Try again.');
      }
    };
    onPress(accept, () => say(true));
    onPress(refuse, () => say(false));
    const row = make('div', { className: 'row' });
    if (q.kind === 'prompt') row.append(value);
    row.append(accept, refuse);
    if (seen && document.documentElement.dataset.larger === 'true') {
      const larger = make('button', { type: 'button', className: 'plain' }, 'Larger');
      onPress(larger, () => { ask('ui/request-display-mode', { mode: 'fullscreen' }).catch(() => fail('The host does not show it larger.')); });
      row.append(larger);
    }
    if (link !== '') {
      const open = make('button', { type: 'button', className: 'plain' }, 'Open in the browser');
      onPress(open, () => { ask('ui/open-link', { url: link }).catch(() => fail('The host does not open it.')); });
      row.append(open);
    }
    const parts = [make('h1', {}, visible(q.title))];
    if (q.detail !== '') parts.push(make('p', { className: 'said' }, `${visible(q.origin)} says:`), make('blockquote', { tabIndex: 0, dir: 'auto' }, visible(q.detail)));
    if (seen) {
      page = picture(async (inputs) => {
        if (inputs) acted = true;
        const { blocks, data } = await request(ticket, inputs ? 'act' : 'picture', inputs ? { inputs } : {});
        const image = blocks.find((b) => b.type === 'image');
        fail('');
        if (image?.data === undefined) {
          if (data?.state) show(data);
          return undefined;
        }
        return { src: `data:image/jpeg;base64,${image.data}`, width: Number(data?.width), height: Number(data?.height) };
      }, fail);
      parts.push(page.element);
    }
    parts.push(facts(q), make('p', { className: 'said' }, `${argumentsTitle}:`), make('pre', { tabIndex: 0 }, visible(q.inputText ?? written(q.input))), row, problem,
      make('p', { className: 'until' }, `Open until ${new Date(q.expiresAt).toLocaleTimeString()}; then it counts as declined.`));
    return parts;
  };

  const run = async () => {
    for (let wait = 0, failed = 0; !stopped;) {
      try {
        const { data } = await request(ticket, 'state', { wait });
        if (stopped) return;
        show(data);
        if (data.state === 'over') return;
        wait = patience;
        failed = 0;
      } catch (e) {
        if (stopped) return;
        if (e instanceof Refusal && e.code === 'CONFLICT') {
          if (answered === '') line(tooLate);
          return;
        }
        if (e instanceof Refusal && e.code !== 'RATE_LIMIT' || ++failed > 10) {
          if (answered === '') line(visible(e instanceof Error ? e.message : 'pagetools does not answer.'));
          return;
        }
        await rest(again);
      }
    }
  };
  run();
  return {
    element,
    stop: () => {
      stopped = true;
      page?.close();
    },
  };
}

const tooLate = 'Nobody answered in time: that counts as declined.';

/** isLate reports whether a question has ended by its time; a second is between clocks. @param {Question} q */
const isLate = (q) => Date.now() > Date.parse(q.expiresAt) - 1000;

/** @param {Question} q */
function facts(q) {
  const list = make('dl');
  /** @param {string} name @param {string} text */
  const add = (name, text) => list.append(make('div', {}, make('dt', {}, visible(name)), make('dd', { dir: 'auto' }, visible(text))));
  add('Tool', `${q.tool}, on ${q.site}`);
  for (const fact of q.facts) add(fact.name, fact.text);
  return list;
}
