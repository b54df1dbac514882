// @ts-check
// What is recorded of pages: the trace of a call, the network of its page, and pictures of that.

import { useEffect, useState } from 'preact/hooks';

import { ApiError } from '../api.js';
import { ofCall, pageOf, recordSession, sessionHAR } from '../api-traces.js';
import { did } from '../calls/did.js';
import { link, me } from '../store.js';
import { visible } from '../text.js';
import { Awaited, told, useLoaded } from '../ui/load.jsx';
import { Picture, save } from './result.jsx';

/** @typedef {import('../api.js').MadeCall} MadeCall */

/** The trace of a call to take along, and what its page showed. @param {{call: MadeCall}} props */
export function Traced({ call: { call: id, tool, recorded, kept, status } }) {
  const [said, setSaid] = useState('');
  if (!me.value?.rights.includes('answer')) return <p class="meta">Not allowed: for traces and pictures of pages, you need the right answer.</p>;
  const take = (/** @type {'trace' | 'har' | 'scenario'} */ what, /** @type {string} */ end) => {
    setSaid('');
    ofCall(id, what).then((bytes) => save(bytes, `${tool}-${id}`, end), (e) => setSaid(told(e)));
  };
  return (
    <>
      <p class="answers">
        <button type="button" class="trace" onClick={() => take('trace', 'zip')}>Trace</button>
        {recorded && <button type="button" onClick={() => take('har', 'har')}>HAR</button>}
        {kept && status !== 'running' && me.value.features.includes('scenario') && <button type="button" onClick={() => take('scenario', 'webtool.yaml')}>Save as scenario</button>}
        <span class="meta">{recorded ? 'Trace opens in Playwright\'s viewer; HAR has the requests of the page.' : 'Trace opens in Playwright\'s viewer. The page was not recorded: its network and pictures are not in it.'}</span>
        <span role="alert" class="problem">{said}</span>
      </p>
      {recorded && <div class="shots">{/** @type {const} */ (['before', 'after']).map((when) => <Shot key={id + when} ask={() => ofCall(id, `picture/${when}`)} what={`The page ${when} the call`} />)}</div>}
    </>
  );
}

/** What the page did during a call; the timeline draws it, too. @param {{call: MadeCall}} props */
export function Did({ call: { call, tool, began } }) {
  const page = useLoaded(() => pageOf(call), [call]);
  const all = page.value;
  useEffect(() => {
    if (!all) return undefined;
    did.value = { call, tool, items: all };
    return () => { did.value = undefined; };
  }, [all]);
  if (!all) return <Awaited of={page} />;
  const from = Date.parse(began);
  return (
    <details>
      <summary>What the page did ({all.length})</summary>
      <div class="frame" tabIndex={0} role="region" aria-label="What the page did">
        <table class="list">
          <thead><tr>{['After', 'Kind', 'What the page says', 'Took'].map((h) => <th scope="col">{h}</th>)}</tr></thead>
          <tbody>{all.map((e, i) => <tr key={i}><td>{Date.parse(e.at) - from} ms</td><td class={e.bad ? 'problem' : ''}>{e.bad && <span aria-hidden="true">✕ </span>}{e.kind}</td><td class="code" dir="auto">{visible(e.text)}</td><td>{e.took > 0 && `${Math.round(e.took)} ms`}</td></tr>)}</tbody>
        </table>
      </div>
    </details>
  );
}

/** A picture of a page, or why there is none. @param {{ask: () => Promise<Blob>, what: string, none?: string}} props ask gets a PNG */
export function Shot({ ask, what, none }) {
  const [of, setOf] = useState(/** @type {Blob | undefined} */ (undefined)), [why, setWhy] = useState('');
  useEffect(() => {
    let gone = false;
    ask().then((png) => { if (!gone) setOf(png); }, (e) => { // the page may show nothing, such as in a dialog
      if (!gone) setWhy(e instanceof ApiError && e.status === 403 ? 'Not allowed: for pictures of pages, you need the right answer.' : none ?? '');
    });
    return () => { gone = true; };
  }, []);
  return of ? <Picture of={of} what={what} /> : why ? <p class="meta">{why}</p> : null;
}

/** Records the page of a session, and hands over what was recorded. @param {{of: import('../pages.js').Session, done: () => void}} props */
export function Record({ of: s, done }) {
  const [said, setSaid] = useState('');
  const on = Boolean(s.recording && !s.recording.over), live = link.value.state === 'live';
  const whose = `session ${visible(s.session).slice(0, 64)} of ${visible(s.caller)}`;
  const act = (/** @type {() => Promise<void>} */ what) => {
    setSaid('');
    what().then(done, (e) => setSaid(told(e)));
  };
  return (
    <>
      <button type="button" aria-pressed={on} aria-disabled={!live} aria-label={`Record ${whose}`} onClick={() => { if (live) act(() => recordSession(s, !on)); }}>Record</button>
      {' '}{s.recording && <button type="button" aria-label={`HAR of ${whose}`} onClick={() => act(async () => save(await sessionHAR(s), `${s.site}-${s.session}`, 'har'))}>HAR</button>}
      {' '}{on && <span class="meta" role="status">● recorded until {new Date(s.recording?.until ?? '').toLocaleTimeString()}</span>}
      <span role="alert" class="problem">{said}</span>
    </>
  );
}
