// @ts-check
// The calls of all processes: a list with a filter, and the one that is chosen.

import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import { took } from '../calls/filter.js';
import { address, atTop, load, missing, more, older, pause, paused, problem, query, settle, settled, shown, waiting, wrong } from '../calls/list.js';
import { keysOf } from '../lent.js';
import { unanswered } from '../pages.js';
import { place } from '../route.js';
import { link } from '../store.js';
import { visible } from '../text.js';
import { useKeptFocus } from '../ui/focus.js';
import { Awaited } from '../ui/load.jsx';
import { Steady, Virtual, placed, show } from '../ui/virtual.jsx';
import { CallDetails } from './call.jsx';
import { Filter } from './filter.jsx';
import { Timeline, timeline, zoom } from './timeline.jsx';

/** @typedef {import('../calls/filter.js').Call} Call */

/** The row that Tab comes to, by its call; '' is the first one. */
const active = signal('');
/** The row that gets the focus with the next drawing. */
const focusRow = signal('');

/** Goes to a row further down, or up. @param {number} by */
function step(by) {
  const all = shown.value;
  if (all.length === 0) return;
  const on = document.activeElement?.closest('.call') !== null;
  const at = all.findIndex((c) => c.call === active.value);
  const to = Math.min(Math.max(on ? at + by : Math.max(at, 0), 0), all.length - 1);
  show(to);
  active.value = focusRow.value = all[to].call;
}

/** Opens the details of a call, and goes there. @param {string} call */
function open(call) {
  active.value = call;
  address({ sel: call });
}

/** Closes the details; the row has the focus. */
export function shut() {
  const sel = place.value.query.get('sel') ?? '';
  if (sel === '') return;
  address({ sel: '' });
  focusRow.value = sel;
}

keysOf.calls = {
  j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
  o: () => { if (document.activeElement?.matches('.call')) open(active.value); },
  '/': () => document.getElementById('calls-filter')?.focus(),
  '.': pause,
  t: () => /** @type {HTMLElement | null} */ (document.querySelector('.card .trace'))?.click(),
  '+': () => zoom(0.5), '-': () => zoom(2),
  Escape: shut,
};

export const shapes = { running: '◌', ok: '✓', refused: '✕', error: '✕' };

/** A length for people. @param {number} ms */
export function length(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')} min`;
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' }), days = new Intl.DateTimeFormat();

/** @param {{at: string}} props */
function Moment({ at }) {
  const d = new Date(at);
  return <time dateTime={at} title={at}>{(d.toDateString() === new Date().toDateString() ? clock : days).format(d)}</time>;
}

const columns = ['Time', 'Status', 'Site', 'Tool', 'Caller', 'Session', 'Duration', 'Code'];

/** @extends {Steady<{call: Call, index: number, first: boolean, chosen: boolean}>} */
class Row extends Steady {
  render() {
    const { call: c, index, first, chosen } = this.props;
    return (
      <div role="row" class={`call ${c.status}`} data-id={c.call} tabIndex={first ? 0 : -1} aria-rowindex={index + 2} aria-selected={chosen} ref={placed(index)}
        onClick={() => open(c.call)} onFocus={() => { active.value = c.call; }} onKeyDown={(e) => {
          if (e.key !== 'Enter' || e.repeat) return;
          e.preventDefault();
          open(c.call);
        }}>
        <Cells call={c} />
      </div>
    );
  }
}

/** What a row says of its call: one of which there is news is another object. @extends {Steady<{call: Call}>} */
class Cells extends Steady {
  render() {
    const c = this.props.call;
    return (
      <>
        <span role="gridcell"><Moment at={c.began} /></span>
        <span role="gridcell"><span aria-hidden="true">{shapes[/** @type {'ok'} */ (c.status)]}</span> {c.stage === 'asked' ? 'asks' : c.status}</span>
        <span role="gridcell" dir="auto">{visible(c.site)}</span>
        <span role="gridcell" dir="auto">{visible(c.tool)}</span>
        <span role="gridcell" dir="auto">{visible(c.caller)}</span>
        <span role="gridcell" dir="auto">{visible(c.session)}</span>
        <span role="gridcell">{c.status === 'running' ? '…' : length(took(c, 0))}{c.waited ? ` (waited ${length(c.waited)})` : ''}</span>
        <span role="gridcell">{visible(c.reason || c.code || '')}</span>
      </>
    );
  }
}

export function Calls() {
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  const sel = place.value.query.get('sel') ?? '';
  useEffect(() => {
    if (sel === '') {
      active.value = '';
      title.current?.focus();
    }
    load();
    const again = () => { if (!document.hidden) load(); };
    document.addEventListener('visibilitychange', again);
    return () => document.removeEventListener('visibilitychange', again);
  }, []);
  useKeptFocus('calls-title');
  const all = shown.value, row = focusRow.value;
  useLayoutEffect(() => {
    if (row === '') return;
    focusRow.value = '';
    /** @type {HTMLElement | null} */ (document.querySelector(`.call[data-id="${CSS.escape(row)}"]`) ?? document.getElementById('calls-title'))?.focus();
  });
  const at = all.findIndex((c) => c.call === active.value);
  const first = at < 0 ? 0 : at;
  return (
    <section aria-labelledby="calls-title" class={sel === '' ? 'calls' : 'calls chosen'}>
      <h1 id="calls-title" ref={title} tabIndex={-1}>Calls</h1>
      <div class="calls-list">
        <Filter />
        <Says count={all.length} />
        {timeline.value && <Timeline />}
        <div class="calls-grid" role="grid" aria-label="Calls" aria-rowcount={more.value ? -1 : all.length + 1} aria-colcount={columns.length}>
          <div role="rowgroup"><div role="row" class="call-head" aria-rowindex={1}>{columns.map((c) => <span role="columnheader">{c}</span>)}</div></div>
          {all.length > 0 && (
            <Virtual all={all} active={first} label="Newest first" row={(c, i) => <Row key={c.call} call={c} index={i} first={i === first} chosen={c.call === sel} />}
              near={(top, end) => {
                atTop.value = top;
                if (top) settle();
                if (end) older();
              }} />
          )}
        </div>
      </div>
      {sel !== '' && <CallDetails key={sel} id={sel} news={all.find((c) => c.call === sel)} close={shut} />}
    </section>
  );
}

/** What is to say of the list. @param {{count: number}} props */
function Says({ count }) {
  if (!settled.value) return <p class="skeleton" aria-hidden="true" />;
  return (
    <>
      {wrong.value !== '' && <p class="problem" role="status">{visible(wrong.value)}</p>}
      {problem.value !== undefined && <Awaited of={{ value: undefined, problem: problem.value, load }} />}
      {missing.value.length > 0 && <p class="problem" role="status">Without the calls of {unanswered(missing.value)}.</p>}
      {count === 0 && problem.value === undefined && (query.value.trim() === ''
        ? <p>No call came since pagetools began. Try <code>pagetools demo</code>, or run a tool under <a href="#/sites">Sites</a>.</p>
        : <p>No call matches this filter.</p>)}
      <p class="bar-of">
        <span class="meta" role="status">{count} {count === 1 ? 'call' : 'calls'}{more.value && ', and older ones'}{link.value.state === 'live' && paused.value && ' · paused'}</span>
        {waiting.value > 0 && <button type="button" class="plain" onClick={() => {
          settle();
          show(0);
          document.getElementById('calls-title')?.focus();
        }}>{waiting.value} new</button>}
        <button type="button" class="plain" aria-pressed={paused.value} onClick={pause}>{paused.value ? 'Go on' : 'Pause'}</button>
        <button type="button" class="plain" aria-pressed={timeline.value} onClick={() => { timeline.value = !timeline.value; }}>Timeline</button>
      </p>
    </>
  );
}

