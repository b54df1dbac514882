// @ts-check
// Running a tool by hand: what Run means, what stands in a dialog before it when much is at stake, and what the call came to.

import { useEffect, useRef, useState } from 'preact/hooks';

import { cancelCall, madeCall, makeCall, siteConfig } from '../api.js';
import { FormView } from '../form/field.jsx';
import { Form } from '../form/model.js';
import { place } from '../route.js';
import { calls, link, me } from '../store.js';
import { visible } from '../text.js';
import { Awaited, told, useLoaded } from '../ui/load.jsx';
import { noRepeat } from '../ui/ripe.js';
import { Address, Name, size } from '../ui/said.jsx';
import { Sure } from '../ui/sure.jsx';
import { CopyAs } from './copy.jsx';
import { Result } from './result.jsx';
import { Traced } from './traced.jsx';

/** @typedef {import('../api.js').Tool} Tool */
/** @typedef {import('../api.js').Site} Site */
/** @typedef {import('../api.js').MadeCall} MadeCall */

/** What an outcome means for who thinks of trying again. @type {Record<string, string>} */
export const outcomes = {
  not_run: 'It did not run: it is safe to repeat it.',
  failed: 'It ran, and failed.', unknown: 'Nobody knows whether it ran: look before you repeat it.',
};

/**
 * @param {{site: Site, tool: Tool, text: string | undefined, problem: string | undefined, changed: () => void}} props text is the arguments as they are on the
 *   screen, or problem says why there are none; changed is told when the tool is another one than on the screen
 */
export function Run({ site, tool, text, problem, changed }) {
  const [asks, setAsks] = useState(/** @type {{text: string, digest: string} | null} */ (null));
  const [made, setMade] = useState('');
  const [said, setSaid] = useState('');
  const [session, setSession] = useState('');
  const [record, setRecord] = useState(false);
  const [settings, setSettings] = useState(/** @type {Form | undefined} */ (undefined)); // once somebody looked at them
  const set = settings?.outcome.value ?? { text: '' };
  const config = set.text === '{}' ? '' : set.text ?? '';
  const replays = place.value.query.get('of') ?? '';
  const busy = useRef(false);
  const { level, destructive } = tool.terms;
  const grave = destructive || tool.annotations?.consequentialHint === true;
  const who = me.value;
  const why = who && !who.rights.includes('call') ? 'Not allowed: you lack the right call.' : level === 'never' ? 'The operator\'s rules refuse every call.' : link.value.state !== 'live' ? 'Not connected.' : '';
  const run = async () => {
    setAsks(null);
    if (text === undefined || busy.current) return;
    busy.current = true;
    setSaid('');
    try {
      setMade(await makeCall(site, tool, text, { session, config, confirm: Boolean(who?.login), record, replays }));
    } catch (e) {
      setSaid(told(e));
    } finally {
      busy.current = false;
    }
  };
  const press = () => {
    if (why !== '') setSaid(why);
    else if (text === undefined) setSaid(`Not run: ${problem}`);
    else if (set.text === undefined) setSaid(`Not run, for the config: ${set.problem}`);
    else if (grave) setAsks({ text, digest: tool.digest });
    else run();
  };
  return (
    <section class="run" aria-label="Run" onKeyDown={noRepeat}>
      <Advanced site={site} session={session} setSession={setSession} settings={settings} setSettings={setSettings} />
      <p class="answers">
        <button type="button" class={grave ? 'primary danger' : 'primary'} data-run aria-disabled={why !== ''} onClick={press}>{grave && <span aria-hidden="true">▲ </span>}Run</button>
        <span class="meta">{why || (level === 'auto' ? 'Ctrl+Enter' : who?.login ? 'Run means that you allow this one call.' : 'The call asks in the inbox: you did not log in by a link.')}</span>
        {site.kind !== 'api' && who?.rights.includes('answer') && <label><input type="checkbox" checked={record} onChange={(e) => setRecord(e.currentTarget.checked)} /> Record the page for a trace</label>}
        <span role="status">{said}</span>
      </p>
      {replays !== '' && <p class="meta">A replay of call <CallLink id={replays} />.</p>}
      <CopyAs site={site} tool={tool.name} text={text} problem={problem} session={session} config={config} />
      {asks && asks.text === text && asks.digest === tool.digest && <Grave site={site} tool={tool} text={text} run={run} stop={() => setAsks(null)} />}
      {made !== '' && <Made key={made} id={made} changed={changed} />}
    </section>
  );
}

/**
 * The session and the config of a call: the form is there when somebody asks for it.
 * @param {{site: Site, session: string, setSession: (s: string) => void, settings: Form | undefined, setSettings: (f: Form) => void}} props
 */
function Advanced({ site, session, setSession, settings, setSettings }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Advanced settings</summary>
      <p class="field"><label for="run-session">Session</label> <input id="run-session" type="text" autocomplete="off" spellcheck={false} placeholder="none" value={session} onInput={(e) => setSession(e.currentTarget.value)} /></p>
      {settings ? <div class="ours"><FormView form={settings} label="config" /></div> : open && <Settings site={site} take={setSettings} />}
    </details>
  );
}

/** Asks for the form of config. @param {{site: Site, take: (f: Form) => void}} props */
function Settings({ site, take }) {
  const schema = useLoaded(() => siteConfig(site.name, site.node), [site.name, site.node]);
  useEffect(() => { if (schema.value !== undefined) take(new Form({ schema: schema.value, value: '{}' })); }, [schema.value]);
  return <Awaited of={schema} />;
}

/** What is about to happen, once more; it leaves when the tool or the arguments become others. @param {{site: Site, tool: Tool, text: string, run: () => void, stop: () => void}} props */
function Grave({ site, tool, text, run, stop }) {
  return (
    <Sure title={<>Run <Name text={tool.name} />?</>} verb={`Run ${visible(tool.name)}`} run={run} stop={stop}>
      <p>Site <Name text={site.name} />, <Address of={tool.origin} domain={tool.domain} />. {tool.terms.destructive ? 'The page marks this tool as destructive.' : 'The page says that this tool has consequences.'}</p>
      <p>Arguments, all of them:</p>
      <pre tabIndex={0} dir="auto">{visible(text)}</pre>
    </Sure>
  );
}

/** Where a call is shown. @param {{id: string}} props */
export const CallLink = ({ id }) => <a href={`#/calls?${new URLSearchParams({ sel: id })}`}><code>{visible(id)}</code></a>;

/** A call and what it came to. @param {{id: string, changed: () => void}} props */
function Made({ id, changed }) {
  const [call, setCall] = useState(/** @type {MadeCall | undefined} */ (undefined));
  const [problem, setProblem] = useState('');
  const news = calls.value.byId.get(id), at = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    let gone = false;
    (async () => {
      try {
        const now = await madeCall(id);
        if (gone) return;
        setCall(now);
        if (now.stage === 'ended' && now.reason === 'TOOL_CHANGED') changed();
      } catch (e) {
        if (!gone) setProblem(told(e));
      }
    })();
    return () => { gone = true; };
  }, [id, news?.stage, news?.at]);
  useEffect(() => at.current?.scrollIntoView({ block: 'nearest' }), [call === undefined]); // it is below a form that may be long
  if (problem !== '') return <p class="problem" role="alert">{problem}</p>;
  if (call === undefined) return <p class="skeleton" aria-hidden="true" />;
  const ok = call.stage === 'ended' && call.outcome === 'ok';
  const ms = Date.parse(call.at) - Date.parse(call.began);
  return (
    <section class="result" aria-label="Result" data-stage={call.stage} ref={at}>
      <p role="status">
        <strong class={call.stage === 'ended' && !ok ? 'problem' : ''}>{call.stage !== 'ended' ? call.stage === 'asked' ? '◌ waits for a person' : '◌ runs' : ok ? '✓ ok' : `✕ ${visible(call.code ?? '')}`}</strong>
        {call.stage === 'ended' && ` · ${ms} ms`}{ok && call.result !== undefined && ` · ${size(call.result)}`} · as {visible(call.caller)}
      </p>
      {call.stage === 'asked' && <p><a href={`#/inbox/${encodeURIComponent(call.question ?? '')}`}>Open the question</a></p>}
      {call.stage !== 'ended' && <button type="button" onClick={() => cancelCall(id, call.node).catch((e) => setProblem(told(e)))}>Cancel the call</button>}
      {call.message && <p class="problem">{visible(call.message)} {outcomes[call.outcome ?? ''] ?? ''}</p>}
      {ok && call.result !== undefined && <Result text={call.result} of={call} />}
      {call.stage === 'ended' && <Traced call={call} />}
      <p class="meta">call <code>{visible(id)}</code></p>
    </section>
  );
}
