// @ts-check
// The browsers, how many pages they hold, and the sessions of callers.

import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';

import { closeSession, clusterNow, pagesNow } from '../api.js';
import { pagesChanged } from '../pages.js';
import { link, me } from '../store.js';
import { visible } from '../text.js';
import { useKeptFocus } from '../ui/focus.js';
import { Awaited, told, useLoaded } from '../ui/load.jsx';
import { Address, Name } from '../ui/said.jsx';
import { Record } from './traced.jsx';

/** @typedef {import('../pages.js').Session} Session */
/** @typedef {import('../pages.js').Browser} Browser */
/** @typedef {import('../pages.js').Pool} Pool */

const often = 5000; // milliseconds between two looks at what no event tells
const soon = 300; // milliseconds after an event

/** Grows when it is time to look again. */
const look = signal(0);

/** Looks again every few seconds while the page is seen, and soon after each change. */
export function useLooks() {
  const changes = pagesChanged.value;
  useEffect(() => {
    const timer = setTimeout(() => { look.value++; }, soon);
    return () => clearTimeout(timer);
  }, [changes]);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden && link.value.state === 'live') look.value++; }, often);
    return () => clearInterval(timer);
  }, []);
  return look.value;
}

export function Sessions() {
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  const [asks, setAsks] = useState(/** @type {Session | undefined} */ (undefined));
  const loaded = useLoaded(pagesNow, [useLooks()]);
  useEffect(() => title.current?.focus(), []);
  useKeptFocus('sessions-title');
  const { value } = loaded;
  return (
    <section aria-labelledby="sessions-title">
      <h1 id="sessions-title" ref={title} tabIndex={-1}>Sessions</h1>
      <Awaited of={loaded} />
      {value && value.missing.length > 0 && <p class="problem" role="status">No answer from {value.missing.map(visible).join(', ')}: what is there is not shown.</p>}
      {me.value?.features.includes('cluster') && <Nodes />}
      {value && <Pools all={value.pools} />}
      {value && <Browsers all={value.browsers} />}
      {value && <Table all={value.sessions} several={value.pools.length > 1} close={setAsks} load={loaded.load} />}
      {asks && <Closing key={asks.id} of={value?.sessions.find((s) => s.id === asks.id && s.node === asks.node) ?? asks} done={loaded.load} stop={() => setAsks(undefined)} />}
    </section>
  );
}

/** @type {Record<string, [string, string]>} */
const lives = { alive: ['✓', 'lives'], draining: ['◌', 'is taken out'], dead: ['✕', 'ended without a word'] };

/** The nodes of the cluster. */
function Nodes() {
  const loaded = useLoaded(clusterNow, [look.value]);
  const s = loaded.value;
  if (!s || loaded.problem !== undefined) return <Awaited of={loaded} />;
  return (
    <>
      {!s.engine.quorum && <p class="problem" role="status"><span aria-hidden="true">✕</span> The engine of the cluster takes no writes: no session goes on.</p>}
      <div class="frame" tabIndex={0} role="region" aria-label="Table of nodes">
        <table class="list">
          <caption>Nodes ({s.nodes.length})</caption>
          <thead><tr>{['State', 'Node', 'Lease', 'Sessions', 'Free pages', 'Build'].map((h) => <th scope="col">{h}</th>)}</tr></thead>
          <tbody>
            {s.nodes.map((n) => {
              const [shape, word] = lives[n.state] ?? ['●', n.state];
              return (
                <tr key={n.incarnation}>
                  <td class={n.state === 'dead' ? 'problem' : ''}><span aria-hidden="true">{shape}</span> {word}</td><th scope="row">{visible(n.name)}</th>
                  <td>{(n.leaseAgeMs / 1000).toFixed(1)} s</td><td>{n.sessions}</td><td>{n.free}</td><td>{visible(n.build)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {s.warnings.length > 0 && <ul aria-label="Warnings">{s.warnings.map((w) => <li key={w}><span aria-hidden="true">▲</span> {visible(w)}</li>)}</ul>}
    </>
  );
}

/** @param {{all: Pool[]}} props */
function Pools({ all }) {
  return (
    <>
      {all.map((p) => (
        <p key={p.node}>
          {all.length > 1 && <><Name text={p.node} />: </>}<strong>{p.held}</strong> of {p.limit} pages are held, {p.spare} {p.spare === 1 ? 'stands' : 'stand'} by, <strong>{p.queued}</strong> {p.queued === 1 ? 'call waits' : 'calls wait'} for one.
          {p.queued > 0 && <span class="problem" role="status"> <span aria-hidden="true">◌</span> {p.noMemory ? 'The memory that is left holds no further page.' : p.held >= p.limit ? 'All pages are held.' : `One caller has at most ${p.perCaller}.`}
            {p.most && <> Most by <Name text={p.most.caller} /> ({p.most.held}).</>}{p.oldest && <> The oldest by <Name text={p.oldest.caller} />, since {clock(p.oldest.since)}.</>}</span>}
        </p>
      ))}
    </>
  );
}

/** @type {Record<string, [string, string]>} */
const states = { running: ['✓', 'runs'], starting: ['◌', 'starts'], idle: ['●', 'starts when a page is wanted'], down: ['✕', 'does not start: the log of pagetools says why'] };

/** @type {Record<string, string>} */
const causes = { ended: 'it ended', silent: 'it did not answer any more' };

/** @param {{all: Browser[]}} props */
function Browsers({ all }) {
  if (all.length === 0) return <p>This pagetools has no browser: its sites need none.</p>;
  const several = new Set(all.map((b) => b.node)).size > 1;
  return (
    <div class="frame" tabIndex={0} role="region" aria-label="Table of browsers">
      <table class="list">
        <caption>Browsers</caption>
        <thead><tr>{['State', 'Browser', 'Memory', 'Tabs', 'Since', 'Restarts', ...(several ? ['Process'] : [])].map((h) => <th scope="col">{h}</th>)}</tr></thead>
        <tbody>
          {all.map((b) => {
            const [shape, word] = states[b.state] ?? ['●', b.state];
            return (
              <tr key={b.node + b.name + b.kind + b.version}>
                <td class={b.state === 'down' ? 'problem' : ''}><span aria-hidden="true">{shape}</span> {word}</td>
                <th scope="row">{b.name && <Name text={b.name} />} {visible(b.version || b.kind || (b.name ? '' : 'browser'))}</th>
                <td>{b.pss === 0 ? 'unknown' : `${Math.round(b.pss / 1e6)} MB`}</td><td>{b.tabs}{b.max > 0 && ` of ${b.max}`}</td>
                <td>{b.since ? <Time at={b.since} /> : ''}</td>
                <td>{b.restarts.length === 0 ? Math.max(0, b.started - 1) : (
                  <details><summary>{Math.max(0, b.started - 1)}</summary><ul>{b.restarts.map((r) => <li key={r.at}>{clock(r.at)}: {causes[r.cause] ?? r.cause}</li>)}</ul></details>
                )}{b.failed > 0 && <span class="problem"> {b.failed} failed</span>}</td>
                {several && <td>{visible(b.node)}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** @param {{all: Session[], several: boolean, close: (s: Session) => void, load: () => void}} props */
function Table({ all, several, close, load }) {
  const may = me.value?.rights.includes('answer') ?? false;
  if (all.length === 0) return <p>No caller has a page of its own now. A call with a <code>sessionId</code> opens one, which is closed when nobody uses it any more.</p>;
  return (
    <>
      {!may && <p class="meta">Not allowed: to close a session, you need the right answer.</p>}
      <div class="frame" tabIndex={0} role="region" aria-label="Table of sessions">
        <table class="list">
          <caption>Sessions ({all.length})</caption>
          <thead><tr>{['Caller', 'Site', 'Session', 'Since', 'Last use', 'Calls', 'Now', 'Page', ...(several ? ['Process'] : []), 'Act'].map((h) => <th scope="col">{h}</th>)}</tr></thead>
          <tbody>
            {all.map((s) => (
              <tr key={s.node + s.id} data-session={s.id}>
                <th scope="row"><Name text={s.caller} /></th><td><Name text={s.site} /></td><td><Name text={s.session} /></td>
                <td><Time at={s.since} /></td><td><Time at={s.lastUsed} /></td><td>{s.calls}</td>
                <td>{s.running > 0 ? `◌ ${s.running === 1 ? 'a call runs' : `${s.running} calls run`}` : 'idle'}{s.waiting > 0 && `, ${s.waiting} wait`}</td>
                <td class="address"><Address of={s.address} domain={s.domain} /></td>{several && <td>{visible(s.node)}</td>}
                <td>{may && <><a href={liveOf(s)} aria-label={`Live view of session ${visible(s.session).slice(0, 64)} of ${visible(s.caller)}`}>Live</a> </>}<button type="button" aria-disabled={!may || link.value.state !== 'live'} aria-label={`Close session ${visible(s.session).slice(0, 64)} of ${visible(s.caller)}`}
                  onClick={() => { if (may && link.value.state === 'live') close(s); }}>Close</button>{may && <> <Record of={s} done={load} /></>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** The address of the live view of a session, in this page. @param {Session} s */
export const liveOf = (s) => `#/${['live', s.node, s.id].map(encodeURIComponent).join('/')}`;

/** What closing means, once more. @param {{of: Session, done: () => void, stop: () => void}} props */
export function Closing({ of: s, done, stop }) {
  const at = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [said, setSaid] = useState('');
  const busy = useRef(false);
  useEffect(() => {
    at.current?.showModal();
  }, []);
  const run = async () => {
    if (busy.current) return;
    busy.current = true;
    setSaid('');
    try {
      await closeSession(s, s.running > 0);
      at.current?.close();
      done();
    } catch (e) {
      setSaid(told(e));
      done(); // it may run a call now, or be gone
    } finally {
      busy.current = false;
    }
  };
  return (
    <dialog ref={at} aria-labelledby="close-title" onClose={stop}>
      <h2 id="close-title">Close session <Name text={s.session} />?</h2>
      <p>Of caller <Name text={s.caller} />, on site <Name text={s.site} />. Its page goes, with all that it knew; the caller's next call hears that once, and the one after that begins anew.</p>
      {s.running > 0 && <p class="problem"><span aria-hidden="true">▲</span> {s.running === 1 ? 'A call runs' : `${s.running} calls run`} in it now, and {s.running === 1 ? 'ends' : 'end'} with it: nobody can say whether the work was done.</p>}
      <p class="answers">
        <button type="button" autofocus onClick={() => at.current?.close()}>Cancel</button>
        <button type="button" class={s.running > 0 ? 'primary danger' : 'primary'} onClick={run}>{s.running > 0 && <span aria-hidden="true">▲ </span>}Close the session</button>
        <span role="alert" class="problem">{said}</span>
      </p>
    </dialog>
  );
}

/** @param {string} iso */
const clock = (iso) => new Date(iso).toLocaleTimeString();

/** How long ago something was. @param {{at: string}} props */
function Time({ at }) {
  const s = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 1000));
  const words = s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return <time dateTime={at} title={at}>{words}</time>;
}
