// @ts-check
// The inbox: the questions that wait for a person, in rows, and the one that is open.

import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';

import { answer } from '../api.js';
import { note } from '../route.js';
import { answering, arrived, close, ended, entries, focusNext, link, opened, order, reachable, rows, settle, unfolded, waiting } from '../store.js';
import { visible } from '../text.js';
import { useKeptFocus } from '../ui/focus.js';
import { Name } from '../ui/said.jsx';
import { severity } from '../words.js';
import { Card, Left, mayAnswer, Title } from './card.jsx';

/** @typedef {import('../store.js').Group} Group */

const size = matchMedia('(min-width: 1200px)');
const wide = signal(size.matches);
size.addEventListener('change', () => { wide.value = size.matches; });

/** Opens a question. @param {string} id @param {boolean} [focus] whether its card gets the focus */
export function open(id, focus = true) {
  opened.value = id;
  note('inbox', ...(id ? [id] : []));
  if (focus && id) focusNext.value = 'card';
}

/** Closes what is open; the row has the focus. */
export function shut() {
  const id = opened.value;
  if (id === '') return;
  open('', false);
  focusNext.value = id;
}

export function Inbox() {
  const list = reachable.value, id = opened.value, to = focusNext.value;
  // What is open is always one of the rows; where nothing is, the first is shown beside them.
  const current = list.includes(id) ? id : wide.value || list.length === 1 ? list[0] ?? '' : '';
  useLayoutEffect(() => {
    if (current !== '' && current !== id && list.length > 0) opened.value = current;
  }, [current, id]);
  useLayoutEffect(() => {
    if (to === '') return;
    focusNext.value = '';
    const card = document.querySelector('.card-title'), row = document.querySelector(`.row[data-id="${CSS.escape(to)}"]`);
    const at = to === 'card' ? card : to === 'inbox' ? null : row;
    /** @type {HTMLElement | null} */ (at ?? document.getElementById('inbox-title'))?.focus();
  });
  useKeptFocus('inbox-title');
  const entry = entries.value.get(current);
  const card = entry && <Card key={current} entry={entry} />;
  return (
    <section class="inbox" aria-labelledby="inbox-title">
      <h1 id="inbox-title" tabIndex={-1}>Inbox</h1>
      <Empty />
      {arrived.value.length > 0 && <p><button type="button" class="arrived" onClick={settle}>{arrived.value.length} new</button></p>}
      <div class={wide.value && current ? 'columns' : ''}>
        {order.value.length > 0 && (
          <ul class="rows" aria-label="Calls that wait for a person">
            {rows.value.map((row) => (typeof row === 'string'
              ? <li key={row}><Row id={row} open={row === current} />{!wide.value && row === current && card}</li>
              : <li key={row.key}><Many group={row} /></li>))}
          </ul>
        )}
        {wide.value && card}
      </div>
      <Ended />
    </section>
  );
}

function Empty() {
  if (order.value.length + arrived.value.length > 0) return null;
  if (link.value.state === 'loading') return <p class="skeleton" aria-hidden="true" />;
  if (link.value.state !== 'live') return null;
  return <p>No call waits. A question of an agent's call appears here by itself: try <code>pagetools demo</code>.</p>;
}

/** @param {{id: string, open: boolean}} props */
function Row({ id, open: isOpen }) {
  const entry = entries.value.get(id);
  if (!entry) return null;
  const { q, over } = entry, { shape, word, rank } = severity(q);
  const first = reachable.value.includes(opened.value) ? isOpen : reachable.value[0] === id;
  return (
    <button type="button" class={`row rank${rank}`} data-id={id} aria-expanded={isOpen} tabIndex={first ? 0 : -1} onClick={() => open(id)}>
      <span class="severity"><span aria-hidden="true">{shape}</span> {word}</span>
      <span class="title" dir="auto"><Title q={q} /></span>
      <span class="who">{visible(q.caller)} on {visible(q.site)}{q.session && ` · session ${visible(q.session)}`}</span>
      {over ? <span class="left">over</span> : <Left q={q} />}
    </button>
  );
}

/** Too many of one site or caller, in one row. @param {{group: Group}} props */
function Many({ group }) {
  const unfold = unfolded.value.has(group.key);
  const fold = () => {
    const next = new Set(unfolded.value);
    if (!next.delete(group.key)) next.add(group.key);
    unfolded.value = next;
  };
  const refuseAll = async () => {
    await Promise.allSettled(group.ids.map(async (id) => {
      answering(id, 'You refused it with all others of its group');
      try {
        await answer(id, { ok: false });
        close(id);
      } catch {
        answering(id, undefined);
      }
    }));
    focusNext.value = 'inbox';
  };
  return (
    <div class="many">
      <button type="button" aria-expanded={unfold} onClick={fold}><span aria-hidden="true">{unfold ? '▾' : '▸'}</span> {group.ids.length} questions of one {group.of}</button>
      {' '}<Name text={group.word} />{' '}
      {mayAnswer.value && <button type="button" aria-disabled={link.value.state !== 'live'} onClick={(e) => { if (e.isTrusted && link.value.state === 'live') refuseAll(); }}
        onKeyDown={(e) => { if (e.repeat) e.preventDefault(); }}>Refuse all</button>}
    </div>
  );
}

function Ended() {
  if (ended.value.length === 0) return null;
  return (
    <details class="ended">
      <summary>Answered ({ended.value.length})</summary>
      <ul>{ended.value.map((e) => <li key={`${e.at} ${e.title}`}><time dateTime={new Date(e.at).toISOString()} title={new Date(e.at).toISOString()}>{new Date(e.at).toLocaleTimeString()}</time> {e.what}: <Name text={e.title} /></li>)}</ul>
    </details>
  );
}

/** Goes to a row further down, or up. @param {number} by */
export function step(by) {
  const list = reachable.value;
  if (list.length === 0) return;
  const at = document.activeElement?.closest('[data-id]')?.getAttribute('data-id') ?? opened.value;
  const next = list[Math.min(Math.max(list.indexOf(at) + by, 0), list.length - 1)];
  document.querySelectorAll('.row').forEach((row) => {
    if (row instanceof HTMLElement && row.dataset.id === next) row.focus();
  });
}

/** The words of the status line. */
export function summary() {
  const n = waiting.value;
  return n === 0 ? 'Nothing waits.' : n === 1 ? 'One question waits.' : `${n} questions wait.`;
}
