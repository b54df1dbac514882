// @ts-check
// One question and its answers. What the page says is shown as a quotation of it, apart from what pagetools says.

import { computed } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { ApiError, answer, questionPicture } from '../api.js';
import { isSecretName } from '../form/secret.js';
import { show } from '../live.js';
import { answering, close, entries, link, me, now } from '../store.js';
import { visible } from '../text.js';
import { later } from '../ui/later.jsx';
import { Address, Name, Said } from '../ui/said.jsx';
import { noRepeat, useRipe } from '../ui/ripe.js';
import { OfPage, useSeen } from '../ui/seen.jsx';
import { argumentsTitle, given, known, left, masked, severity, speaker, titled, whyAsked, wordsOf, written, yesOf } from '../words.js';

/** @typedef {import('../store.js').Entry} Entry */
/** @typedef {import('../api.js').OpenQuestion} OpenQuestion */

/** @typedef {import('./edit.jsx').Edit} Edit */

const changed = 'Allow with these changes';
const Editing = later('Editing'), Shot = later('Shot');

/** @type {Edit} */
const asSent = { open: false, other: false };
/** @type {Edit} */
const opening = { open: true, other: false, why: 'The arguments are not there yet.' };
/** The questions whose arguments somebody edits. @type {Set<string>} */
const edited = new Set();
/** @type {import('./edit.jsx').Fault[]} */
const none = [];

/** Whether who uses the page may answer; without it, they read. */
export const mayAnswer = computed(() => me.value?.rights.includes('answer') ?? true);

/** What is asked, in our words. @param {{q: OpenQuestion}} props */
export function Title({ q }) {
  const { ours, tool, site } = titled(q);
  return tool === '' ? <>{visible(ours)}</> : <>{ours} <Name text={tool} /> on <Name text={site} />?</>;
}

/** @param {{entry: Entry}} props */
export function Card({ entry }) {
  const { q, over } = entry;
  const { shape, word, rank } = severity(q);
  const head = `card-${q.id}`, may = mayAnswer.value, why = whyAsked(q), { theirs } = titled(q);
  const [edit, setEdit] = useState(edited.has(q.id) ? opening : asSent);
  useEffect(() => () => { if (!entries.value.has(q.id)) edited.delete(q.id); }, []);
  const [refusal, setRefusal] = useState({ errors: none, of: /** @type {string | undefined} */ ('') }); // of a text: of another one, nothing is said
  return (
    <article class={`card rank${rank}`} data-id={q.id} aria-labelledby={head}>
      <p class="stake"><span class="severity"><span aria-hidden="true">{shape}</span> {word}</span>{!over && <Left q={q} />}</p>
      <h2 id={head} class="card-title" tabIndex={-1} dir="auto"><Title q={q} /></h2>
      <p class="meta">site <Name text={q.site} /> · <Address of={q.origin} domain={q.domain} /></p>
      <p class="meta">caller <Name text={q.caller} />{q.session && <> · session <Name text={q.session} /></>} · since {new Date(q.since).toLocaleTimeString()}{q.firstSince && <> · first call of this tool by this caller that is known since {new Date(q.firstSince).toLocaleTimeString()}</>}</p>
      {edit.open && !over
        ? <Editing q={q} tell={setEdit} errors={refusal.of === edit.text ? refusal.errors : none} stop={() => {
          edited.delete(q.id);
          setEdit(asSent);
          document.getElementById(head)?.focus();
        }} />
        : <Arguments q={q} begin={q.edit && may && !over && (() => {
          edited.add(q.id);
          setEdit(opening);
        })} />}
      {(theirs || q.detail) !== '' && <Said by={speaker(q)} text={[theirs, q.detail].filter(Boolean).join('\n')} />}
      <dl class="facts">
        {known(q).map(([name, value, theirWords]) => <div key={name + value}><dt>{name}</dt><dd dir="auto" class={theirWords ? 'said' : ''}>{theirWords ? <q>{visible(value)}</q> : visible(value)}</dd></div>)}
        {why !== '' && <div class="why"><dt>Why you are asked</dt><dd>{visible(why)}</dd></div>}
      </dl>
      {q.picture && !over && (may
        ? <div class="shown"><Shot ask={() => questionPicture(q.id)} what="A picture of the page" none="The page shows nothing just now." /></div>
        : <p class="meta">Not allowed: for pictures of pages, you need the right answer.</p>)}
      {over ? <p class="over" role="status">{over}</p> : <Answers q={q} edit={edit} refused={(errors) => setRefusal({ errors, of: edit.text })} />}
    </article>
  );
}

/** What is left of the time, without a sound. @param {{q: OpenQuestion}} props */
export function Left({ q }) {
  const end = Date.parse(q.expiresAt), ms = end - now.value;
  const share = Math.min(1, Math.max(0, ms / Math.max(1, end - Date.parse(q.since))));
  return (
    <span class={ms <= 30_000 ? 'left soon' : 'left'} title={q.expiresAt}>
      <span class="visually-hidden">time left </span>{left(ms)}
      <span class="bar" aria-hidden="true"><span style={{ width: `${Math.round(share * 100)}%` }} /></span>
    </span>
  );
}

/** @param {{q: OpenQuestion, begin: false | (() => void)}} props */
function Arguments({ q, begin }) {
  const object = typeof q.input === 'object' && q.input !== null && !Array.isArray(q.input);
  const [json, setJson] = useState(!object);
  const [clear, setClear] = useState(false);
  const hides = written(q.input) !== written(masked(q.input));
  const input = clear ? q.input : masked(q.input);
  const all = object ? Object.entries(/** @type {object} */ (input)) : [];
  return (
    <section class="arguments" aria-label={argumentsTitle}>
      <p class="bar-of">
        <strong>{argumentsTitle}</strong>
        {object && all.length > 0 && <button type="button" class="plain" aria-pressed={json} onClick={() => setJson(!json)}>JSON</button>}
        {hides && <button type="button" class="plain" aria-pressed={clear} onClick={() => setClear(!clear)}>Show what is hidden</button>}
        {begin && <button type="button" class="plain edit" onClick={begin}>Edit</button>}
      </p>
      {(q.secrets?.length ?? 0) > 0 && <p class="meta">*** is a secret that nobody is shown.</p>}
      {json ? <pre tabIndex={0} aria-label="Arguments as JSON">{visible(written(input))}</pre>
        : all.length === 0 ? <p class="meta">None.</p>
          : (
            <div class="frame" tabIndex={0} role="region" aria-label="Arguments as a table">
              <table><tbody>
                {all.map(([name, value]) => <tr key={name}><th scope="row" dir="auto">{visible(name)}</th><td dir="auto">{visible(cell(name, value))}</td></tr>)}
              </tbody></table>
            </div>
          )}
    </section>
  );
}

/** @param {string} name @param {unknown} value a text without its marks where no other kind of value looks like it */
function cell(name, value) {
  if (typeof value !== 'string') return written(value);
  if (value === '••••' && isSecretName(name)) return value;
  return JSON.stringify(value);
}

/** @param {{q: OpenQuestion, edit: Edit, refused: (errors: import('./edit.jsx').Fault[]) => void}} props */
function Answers({ q, edit, refused }) {
  const [yes, no] = wordsOf(q);
  const [value, setValue] = useState(given(q));
  const [always, setAlways] = useState(false);
  const [said, setSaid] = useState({ words: '', of: /** @type {string | undefined} */ ('') }); // of the arguments: of others, nothing is said
  const [sent, setSent] = useState(false);
  const [view, setView] = useState(false);
  const [ref, ripe] = useRipe();
  const [why, setWhy] = useState(/** @type {string | undefined} */ (undefined));
  const offline = link.value.state !== 'live', may = mayAnswer.value, off = offline || !may;
  const { other } = edit, broken = edit.open && edit.text === undefined;
  const pressed = useRef(false);
  const problem = said.of === edit.text ? said.words : '';
  const setProblem = (/** @type {string} */ words) => setSaid({ words, of: edit.text });

  /** @param {boolean} ok */
  const say = async (ok) => {
    if (pressed.current || off || document.hidden || (ok && !ripe)) return;
    if (ok && broken) {
      setProblem(`Not sent: ${edit.why}`);
      return;
    }
    pressed.current = true;
    setSent(true);
    setProblem('');
    answering(q.id, `You answered: ${ok ? other ? changed : yes : no}`);
    try {
      await answer(q.id, { ok, ...(ok && q.kind === 'prompt' ? { value: value.toWellFormed() } : {}), ...(ok && always && !other ? { always: true } : {}),
        ...(!ok && why ? { reason: why.toWellFormed() } : {}) }, ok && other ? edit.text : undefined);
      close(q.id);
    } catch (e) {
      refused(e instanceof ApiError ? e.errors : none);
      answering(q.id, undefined);
      pressed.current = false;
      setSent(false);
      setProblem(e instanceof ApiError ? e.message : 'The answer did not arrive. Try again.');
    }
  };
  const grave = severity(q).rank === 0 && q.kind === 'approve';
  return (
    <>
    <form class="answers" onSubmit={(e) => { e.preventDefault(); if (e.isTrusted) say(true); }} onKeyDown={noRepeat}>
      {q.kind === 'prompt' && <label class="field">Your answer <input type="text" value={value} onInput={(e) => setValue(e.currentTarget.value)} /></label>}
      <button ref={ref} class={grave ? 'yes primary danger' : 'yes primary'} aria-disabled={sent || off || !ripe || broken}>{grave && <span aria-hidden="true">▲ </span>}{other ? changed : yesOf(q)}</button>
      <button type="button" class="no" aria-disabled={sent || off} onClick={(e) => { if (e.isTrusted) say(false); }}>{no}</button>
      {may && q.kind === 'approve' && <button type="button" class="plain because" aria-expanded={why !== undefined} onClick={() => setWhy(why === undefined ? '' : undefined)}>{no} with a reason</button>}
      {may && q.always && !other && <label class="always"><input type="checkbox" checked={always} onChange={(e) => setAlways(e.currentTarget.checked)} /> for all further calls of this tool, with any arguments</label>}
      {may && q.picture && q.kind === 'interact' && !view && <button type="button" class="open-live" onClick={() => setView(true)}>Open live</button>}
      {!may && <p class="meta">Not allowed: you need the right answer.</p>}
      {offline && <p class="meta">Not connected: answers wait until the connection is back.</p>}
      <p class="problem" role="alert" hidden={problem === ''}>{visible(problem)}</p>
    </form>
    {why !== undefined && <Reason no={no} why={why} setWhy={setWhy} off={sent || off} say={() => say(false)} />}
    {view && <View id={q.id} />}
    </>
  );
}

/** Why a call is refused, for its caller. Enter here refuses, and nothing else. @param {{no: string, why: string, setWhy: (why: string) => void, off: boolean, say: () => void}} props */
function Reason({ no, why, setWhy, off, say }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <form class="answers reason" onSubmit={(e) => { e.preventDefault(); if (e.isTrusted) say(); }} onKeyDown={noRepeat}>
      <label class="field">Reason, which the caller reads as your words <input ref={field} type="text" maxLength={200} value={why} onInput={(e) => setWhy(e.currentTarget.value)} /></label>
      <button aria-disabled={off}>{no}{why !== '' && ' with this reason'}</button>
    </form>
  );
}

/** The live view of a question's page, while somebody looks. @param {{id: string}} props */
function View({ id }) {
  const at = useRef(/** @type {HTMLDivElement | null} */ (null)), seen = useSeen(), first = useRef(true);
  useLayoutEffect(() => {
    if (!seen) return undefined;
    const { view, close: end } = show(`questions/${encodeURIComponent(id)}`), had = document.activeElement === at.current;
    at.current?.replaceChildren(view);
    if (first.current || had) view.focus();
    first.current = false;
    return () => {
      if (view.contains(document.activeElement)) at.current?.focus();
      view.remove();
      end();
    };
  }, [seen]);
  return (
    <section aria-label="Page">
      <OfPage seen={seen} />
      <div ref={at} tabIndex={-1} />
    </section>
  );
}
