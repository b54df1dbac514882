// @ts-check
// One call: how it went, what was decided and why, and what it came to where that is kept.

import { useEffect, useRef, useState } from 'preact/hooks';

import { madeCall } from '../api.js';
import { took } from '../calls/filter.js';
import { me } from '../store.js';
import { visible } from '../text.js';
import { Awaited, useLoaded } from '../ui/load.jsx';
import { Name } from '../ui/said.jsx';
import { length, shapes } from './calls.jsx';
import { Result } from './result.jsx';
import { CallLink, outcomes } from './run.jsx';
import { Did, Traced } from './traced.jsx';

/** @typedef {import('../calls/filter.js').Call} Call */
/** @typedef {import('../api.js').MadeCall} MadeCall */

/** What a level did. @type {Record<string, string>} */
const decisions = { auto: 'It may run without a question', 'ask-once': 'A person is asked once', ask: 'A person is asked each time', never: 'It may never run' };

/** @param {{id: string, news: Call | undefined, close: () => void}} props news is what the list says of it */
export function CallDetails({ id, news, close }) {
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  const made = useLoaded(() => madeCall(id), [id, news?.stage, news?.status]);
  useEffect(() => title.current?.focus(), []);
  const call = made.value ?? news;
  return (
    <article class="card" aria-labelledby="call-title">
      <p class="stake"><span class="meta">Call <code>{visible(id)}</code></span><button type="button" class="plain" onClick={close}>Close</button></p>
      <h2 id="call-title" ref={title} tabIndex={-1}>{call === undefined ? 'A call' : <><Name text={call.tool} /> on <Name text={call.site} /></>}</h2>
      {call === undefined || made.problem !== undefined ? <Awaited of={made} /> : null}
      {call && <Facts call={call} />}
      {made.value && <Payload call={made.value} />}
      {made.value?.replayed && <p>Run again as {made.value.replayed.map((one, i) => <>{i > 0 && ', '}<CallLink id={one} /></>)}.</p>}
      {made.value && <Traced call={made.value} />}
      {made.value?.recorded && me.value?.rights.includes('answer') && <Did call={made.value} />}
      {call && <Ids call={call} />}
    </article>
  );
}

/** @param {{call: Call}} props */
function Facts({ call }) {
  const { status, code, reason, outcome } = call;
  return (
    <>
      <p role="status"><strong class={status === 'error' || status === 'refused' ? 'problem' : ''}><span aria-hidden="true">{shapes[/** @type {'ok'} */ (status)]}</span> {call.stage === 'asked' ? 'waits for a person' : status}{code && ` · ${visible(code)}`}{reason && ` (${visible(reason)})`}</strong>
        {status !== 'running' && ` · ${length(took(call, 0))}`}{call.waited ? `, of which it waited ${length(call.waited)} for persons` : ''}</p>
      {status !== 'running' && outcome !== 'ok' && <p>{outcomes[outcome ?? ''] ?? ''}</p>}
      {call.status === 'running' && me.value?.rights.includes('answer') && <p><a href={`#/live/${encodeURIComponent(call.call)}`}>Live view</a></p>}
      {call.question && <p><a href={`#/inbox/${encodeURIComponent(call.question)}`}>Open the question</a></p>}
      <Stages call={call} />
      {call.replays && <p>A replay of call <CallLink id={call.replays} />.</p>}
      {call.decision && <p>{decisions[call.decision] ?? visible(call.decision)}: {visible(call.rule ?? '')} <span class="meta">({visible(call.layer ?? '')})</span>.</p>}
      {call.approver ? <p>{code === 'APPROVAL_DENIED' ? 'Refused' : 'Allowed'} by <Name text={call.approver} />{call.approval === 'run by hand' && ', who ran it by hand'}.</p>
        : call.approval && call.approval !== 'run by hand' && <p>It ran under consent that was given before, <code>{visible(call.approval)}</code>.</p>}
      {call.code === 'APPROVAL_DENIED' && !call.approver && call.asked && <p>Nobody answered in time.</p>}
      {call.code === 'APPROVAL_REQUIRED' && <p>Nobody could be asked.</p>}
    </>
  );
}

/** When a call got how far. @param {{call: Call}} props */
function Stages({ call }) {
  const began = Date.parse(call.began);
  /** @type {[string, string | undefined][]} */
  const all = [['came', call.began], ['asked a person', call.asked], ['last answer', call.answered], ['ran', call.ran], ['ended', call.status === 'running' ? undefined : call.at], ['delivered', call.delivered]];
  const there = /** @type {[string, string][]} */ (all.filter(([, at]) => at));
  return (
    <table class="stages">
      <caption class="visually-hidden">Stages</caption>
      <tbody>{there.map(([name, at]) => <tr key={name}><th scope="row">{name}</th><td><time dateTime={at} title={at}>{new Date(at).toLocaleTimeString()}</time></td><td>{at === call.began ? new Date(at).toLocaleDateString() : `+${length(Date.parse(at) - began)}`}</td></tr>)}</tbody>
    </table>
  );
}

const linked = 4096; // characters of arguments that an address takes

/** Arguments and result. @param {{call: MadeCall}} props */
function Payload({ call }) {
  if (!call.kept) {
    const may = me.value?.rights.includes('answer');
    return <p class="meta">{may ? <>pagetools keeps no arguments and results of this call ({call.argumentBytes} bytes in, {call.resultBytes} out). <code>--console-payloads all</code> keeps those of the newest calls, in memory.</> : 'Arguments and results are for people with the right answer.'}</p>;
  }
  const input = call.input ?? '{}';
  const masked = input.includes('"***"'); // as bridge.Observed.Shown has secrets
  const address = `#/sites/${encodeURIComponent(call.site)}/tools/${encodeURIComponent(call.tool)}`;
  const to = (/** @type {Record<string, string>} */ more) => `${address}?${new URLSearchParams({ node: call.node, in: input, of: call.call, ...more })}`;
  return (
    <>
      <h3>Arguments</h3>
      <pre tabIndex={0} dir="auto">{visible(input)}</pre>
      {input.length > linked ? <p class="meta">They are too long for a link to the form: <Copy text={input} what="the arguments" /></p>
        : <p class="answers">{!masked && <a href={to({ at: 'run' })}>Replay</a>} <a href={to({})}>Edit and replay</a> <span class="meta">It opens in the form of the tool. What you run there is a new call.{masked && ' Secret arguments are shown as ***: fill them in before you run it.'}</span></p>}
      {call.message && <p class="problem">{visible(call.message)}</p>}
      {call.result !== undefined && <Result text={call.result} of={call} />}
    </>
  );
}

/** What names a call elsewhere. @param {{call: Call}} props */
function Ids({ call }) {
  /** @type {[string, string | undefined][]} */
  const all = [['Call', call.call], ['Trace', call.trace], ['Caller', call.caller], ['Session', call.session], ['Version', call.version], ['Process', call.node]];
  return (
    <dl class="facts">
      {all.map(([name, value]) => value && <div key={name}><dt>{name}</dt><dd><code>{visible(value)}</code> <Copy text={value} what={name.toLowerCase()} /></dd></div>)}
    </dl>
  );
}

/** @param {{text: string, what: string}} props */
export function Copy({ text, what }) {
  const [said, setSaid] = useState('');
  return (
    <button type="button" class="plain" aria-label={`Copy ${what}`} onClick={() => {
      navigator.clipboard.writeText(text).then(() => setSaid('copied'), () => setSaid('not copied'));
      setTimeout(setSaid, 2000, '');
    }}><span role="status">{said || 'Copy'}</span></button>
  );
}
