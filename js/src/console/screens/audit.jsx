// @ts-check
// The signed record of calls: whether it can be written, whether it is as it was written, and what it has of a call.

import { useEffect, useRef, useState } from 'preact/hooks';

import { audit, recordsOf, verify } from '../api-audit.js';
import { auditChanged } from '../pages.js';
import { noteQuery, place } from '../route.js';
import { link } from '../store.js';
import { visible } from '../text.js';
import { useKeptFocus } from '../ui/focus.js';
import { Awaited, told, useLoaded } from '../ui/load.jsx';

/** @typedef {import('../api-audit.js').Audit} State */
/** @typedef {import('../api-audit.js').Report} Report */
/** @typedef {import('../api-audit.js').Break} Break */

const lookEvery = 500; // milliseconds, while it is verified
const most = 100; // rows of a table

/** @param {number} n @param {string} one */
const count = (n, one) => `${n.toLocaleString('en')} ${one}${n === 1 ? '' : 's'}`;

/** @param {string} id */
const short = (id) => id.slice(0, 8);

/** @param {{at: string}} props */
const Time = ({ at }) => <time dateTime={at} title={at}>{new Date(at).toLocaleString()}</time>;

export function Audit() {
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => title.current?.focus(), []);
  useKeptFocus('audit-title');
  const state = useLoaded(audit, [auditChanged.value]);
  const [problem, setProblem] = useState('');
  const running = state.value?.running ?? null;
  useEffect(() => {
    if (running === null) return undefined;
    const again = setTimeout(() => { if (!document.hidden) state.load(); }, lookEvery);
    return () => clearTimeout(again);
  }, [state.value]);
  const offline = link.value.state !== 'live';
  const begin = async () => {
    if (running !== null || offline) return;
    setProblem('');
    try {
      await verify();
    } catch (e) {
      setProblem(told(e));
    }
    await state.load();
  };
  const now = state.value;
  return (
    <section aria-labelledby="audit-title">
      <h1 id="audit-title" ref={title} tabIndex={-1}>Audit</h1>
      <Awaited of={state} />
      {now && !now.kept && <p>This process keeps no audit: it has no data folder. <code>--data-dir</code> names one.</p>}
      {now?.kept && (
        <>
          <Writers of={now} />
          <p class="answers">
            <button type="button" class="primary" aria-disabled={running !== null || offline} onClick={begin}>Verify now</button>
            {offline && <span class="meta">Not connected.</span>}
            <span role="status">{running !== null ? 'It is verified now.' : now.last === null ? 'Nobody has verified it since this process began.' : ''}</span>
            {running !== null && <span class="meta"><progress aria-label="Records read" value={running.read} max={Math.max(running.of, 1)} /> {running.read.toLocaleString('en')} of about {count(running.of, 'record')}</span>}
          </p>
          <p class="problem" role="alert" hidden={problem === ''}>{problem}</p>
          {now.last && <Verified of={now.last} />}
          <Lookup at={now.last?.at ?? ''} />
        </>
      )}
    </section>
  );
}

/** Whether each process can write. @param {{of: State}} props */
function Writers({ of: { writers, missing } }) {
  const bad = writers.filter((w) => !w.healthy);
  return (
    <>
      {bad.length === 0 && <p><span aria-hidden="true">✓</span> {writers.length === 1 ? 'This process writes its records.' : `All ${writers.length} processes write their records.`}</p>}
      {bad.map((w) => <p class="problem" role="alert"><span aria-hidden="true">✕</span> Process {visible(w.node)} cannot write its records now, so that it refuses calls that may change something. Its log says why; often the disk is full.</p>)}
      {missing?.map((m) => <p class="problem"><span aria-hidden="true">✕</span> Process {visible(m.node)} does not answer.</p>)}
    </>
  );
}

/** What to do about a record that is not as it was written. @param {Break} b */
function advice({ problem, chain }) {
  if (problem === 'signature') return 'The key of this folder did not sign it: somebody forged it, or audit.key was replaced, or the folder is put together of two. ';
  return `Somebody, or a broken disk, changed the folder after it was written${chain ? '; what is before this place is as it was' : ''}. `;
}

/** @param {{of: NonNullable<State['last']>}} props */
function Verified({ of: { at, by, took, report, error } }) {
  if (report === null) return <p class="problem" role="alert">Not verified: {visible(error ?? '')}</p>;
  const chains = report.chains ?? [], bad = report.bad ?? [];
  return (
    <>
      <p role="status" class={report.ok ? '' : 'problem'}><strong><span aria-hidden="true">{report.ok ? '✓' : '✕'}</span> {report.ok ? 'Unbroken' : 'Not as it was written'}</strong>: {count(report.records, 'record')} in {count(report.chainCount, 'chain')} {report.records === 1 ? 'is' : 'are'} as they were written, and {count(report.checkpoints, 'checkpoint')} {report.checkpoints === 1 ? 'agrees' : 'agree'}.</p>
      <p class="meta">Verified <Time at={at} /> by {visible(by)}, in {took.toLocaleString('en')} ms. Public key of the checkpoints: <code>{visible(report.publicKey)}</code>. Compare it with a copy that you keep elsewhere.</p>
      {bad.map((b) => (
        <div class="problem">
          <p>{b.chain ? <>Record {b.record} of chain <code>{visible(short(b.chain))}</code> is {visible(b.problem)}: {visible(b.detail)}.</> : <>{visible(b.detail)}.</>}</p>
          <p>{advice(b)}Copy the folder <code>audit</code> away as it is, find out who can write there, and compare <code>audit/checkpoints.json</code> with the copy of another machine.</p>
        </div>
      ))}
      <Facts of={report} />
      <Chains all={chains} of={report.chainCount} />
      <Open of={report} />
    </>
  );
}

/** What is not a fault, and good to know. @param {{of: Report}} props */
function Facts({ of: r }) {
  const removed = r.removed ?? [];
  const all = [
    r.unsigned > 0 && `${count(r.unsigned, 'record')} of the newest ${r.unsigned === 1 ? 'is' : 'are'} under no checkpoint yet: if the last of them were removed, nothing would show it.`,
    removed.length > 0 && `${count(removed.length, 'old file')} ${removed.length === 1 ? 'was' : 'were'} removed; the newest record in them is of ${new Date(removed.at(-1)?.time ?? '').toLocaleString()}.`,
    r.lost > 0 && `${count(r.lost, 'record')} could not be kept while nothing could be written.`,
    r.torn > 0 && `${count(r.torn, 'line')} ${r.torn === 1 ? 'is' : 'are'} cut off, as a full disk or a killed process leaves them.`,
    ...(r.others ?? []).slice(0, 20).map((name) => `${visible(name)} is not part of the audit, and was not verified.`),
  ].filter(Boolean);
  return all.length === 0 ? null : <ul class="findings" aria-label="Good to know">{all.map((words) => <li><span aria-hidden="true">●</span> {words}</li>)}</ul>;
}

/** @param {{all: import('../api-audit.js').Chain[], of: number}} props */
function Chains({ all, of }) {
  if (all.length === 0) return null;
  return (
    <section class="part" aria-labelledby="chains-title">
      <h2 id="chains-title">Chains</h2>
      <p class="meta">Each process writes one.{of > most && ` ${most} of ${of.toLocaleString('en')} are shown: those with a fault first, then the newest.`}</p>
      <div class="frame" tabIndex={0} role="region" aria-label="Table of chains">
        <table class="list prose">
          <thead><tr>{['Chain', 'State', 'Records', 'Last checkpoint', 'Process'].map((h) => <th scope="col">{h}</th>)}</tr></thead>
          <tbody>
            {all.slice(0, most).map((c) => (
              <tr key={c.chain}>
                <th scope="row"><code title={c.chain}>{visible(short(c.chain))}</code></th>
                <td class={c.bad ? 'problem' : ''}>{c.bad ? '✕ broken' : '✓ unbroken'}</td>
                <td>{c.records.toLocaleString('en')}</td>
                <td>{c.checkpoint ? <Time at={c.checkpoint} /> : 'none yet'}</td>
                <td>{c.living ? 'runs' : 'has ended'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Calls that began, and of whose end nothing is known. @param {{of: Report}} props */
function Open({ of: { open, openCount, ok } }) {
  if (openCount === 0) return ok ? <p>Every call that began has an outcome.</p> : null;
  return (
    <section class="part" aria-labelledby="open-title">
      <h2 id="open-title">Calls without an outcome</h2>
      <p class="meta">{count(openCount, 'call')}: they run now, or their process was killed; then nobody knows whether they ran.{openCount > most && ` The oldest ${most} are shown.`}</p>
      <div class="frame" tabIndex={0} role="region" aria-label="Table of calls without an outcome">
        <table class="list prose">
          <thead><tr>{['Time', 'Tool', 'Site', 'Caller', 'Call'].map((h) => <th scope="col">{h}</th>)}</tr></thead>
          <tbody>
            {(open ?? []).slice(0, most).map((o) => (
              <tr key={`${o.chain} ${o.record}`}>
                <td><Time at={o.time} /></td>
                {[o.tool, o.site, o.caller].map((name) => <td dir="auto">{visible(name)}</td>)}
                <td><a href={`#/audit?${new URLSearchParams({ call: o.call })}`}>{visible(o.call)}</a></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Asks for the id of a call; the address has it. @param {{at: string}} props at says when the audit was verified: its records are read again then */
function Lookup({ at }) {
  const call = place.value.query.get('call') ?? '';
  return (
    <section class="part" aria-labelledby="lookup-title">
      <h2 id="lookup-title">Look up a call</h2>
      <form class="answers" onSubmit={(e) => {
        e.preventDefault();
        noteQuery('audit', { call: String(new FormData(e.currentTarget).get('call') ?? '').trim() });
      }}>
        <label>Its id <input key={call} name="call" type="text" class="filter" autocomplete="off" spellcheck={false} maxLength={128} defaultValue={call} /></label>
        <button>Look up</button>
      </form>
      {call !== '' && <Records key={`${call} ${at}`} call={call} />}
    </section>
  );
}

/** @type {[string, keyof import('../api-audit.js').AuditRecord][]} */
const facts = [
  ['Tool', 'tool'], ['Site', 'site'], ['Caller', 'caller'], ['Decision', 'decision'], ['Rule', 'rule'], ['Approved by', 'approver'], ['Under', 'approval'], ['Answered or acted', 'persons'],
  ['Outcome', 'outcome'], ['Code', 'code'], ['Reason', 'reason'], ['Definition', 'definition'], ['Arguments', 'arguments'], ['Result', 'result'],
];

/** @param {{call: string}} props */
function Records({ call }) {
  const found = useLoaded(() => recordsOf(call), []);
  return (
    <>
      <Awaited of={found} />
      {found.value?.length === 0 && <p role="status">The audit has no record of this call. It has those that were dispatched, and those that a person or a rule refused.</p>}
      {found.value?.map((r) => (
        <section key={`${r.chain} ${r.record}`} class="part" aria-label={`Record ${r.record}`}>
          <p><strong>{r.kind === 'intent' ? 'It was about to run' : r.kind === 'outcome' ? 'It ended' : visible(r.kind)}</strong>, <Time at={r.time} /> <span class="meta">record {r.record} of chain <code>{visible(short(r.chain))}</code></span></p>
          <dl class="facts">{facts.filter(([, name]) => r[name]).map(([what, name]) => <div key={name}><dt>{what}</dt><dd dir="auto">{visible(String(r[name]))}</dd></div>)}</dl>
        </section>
      ))}
      {(found.value?.length ?? 0) > 0 && <p class="meta">Definitions, arguments and results are SHA-256 digests: the audit has nothing else of them.</p>}
    </>
  );
}
