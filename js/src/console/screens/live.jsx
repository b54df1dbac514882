// @ts-check
// The pages of sessions as they are now: one large and as it changes, the others as pictures.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { madeCall, pagesNow, sessionPicture } from '../api.js';
import { show } from '../live.js';
import { place } from '../route.js';
import { link, me } from '../store.js';
import { visible } from '../text.js';
import { useKeptFocus } from '../ui/focus.js';
import { Awaited, useLoaded } from '../ui/load.jsx';
import { Address, Name } from '../ui/said.jsx';
import { OfPage, useSeen } from '../ui/seen.jsx';
import { Copy } from './call.jsx';
import { Closing, liveOf, useLooks } from './sessions.jsx';

/** @typedef {import('../pages.js').Session} Session */

const often = 5000; // milliseconds between two pictures
const mostPictures = 12;

export function Live() {
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  const loaded = useLoaded(pagesNow, [useLooks()]);
  const seen = useSeen();
  useEffect(() => title.current?.focus(), []);
  useKeptFocus('live-title');
  const may = me.value?.rights.includes('answer') ?? true;
  const { rest } = place.value, all = loaded.value?.sessions ?? [];
  const [node, id] = rest;
  const chosen = rest.length === 0 ? all[0] : all.find((s) => s.node === node && s.id === id);
  const others = all.filter((s) => s !== chosen);
  const [asks, setAsks] = useState(false);
  return (
    <section aria-labelledby="live-title">
      <h1 id="live-title" ref={title} tabIndex={-1}>Live</h1>
      {!may && <p class="problem" role="status">Not allowed: to see the pages of callers, you need the right answer.</p>}
      {may && <Awaited of={loaded} />}
      {may && loaded.value && all.length === 0 && <p>No caller has a page of its own now. A call with a <code>sessionId</code> opens one.</p>}
      {may && loaded.value && id !== undefined && chosen === undefined && <p class="problem" role="status">This session is not there any more.</p>}
      {may && loaded.value && rest.length === 1 && <OfCall key={node} id={node} all={all} />}
      {may && chosen && <Large key={`${chosen.node} ${chosen.id}`} of={chosen} seen={seen} close={() => setAsks(true)} />}
      {may && chosen && asks && <Closing key={chosen.id} of={chosen} done={loaded.load} stop={() => setAsks(false)} />}
      {may && others.length > 0 && (
        <>
          <h2>Other sessions</h2>
          {others.length > mostPictures && <p class="meta">The first {mostPictures} of {others.length} are shown: <a href="#/sessions">all sessions</a></p>}
          <ul class="pictures">
            {others.slice(0, mostPictures).map((s) => <li key={s.node + s.id}><Small of={s} seen={seen} /></li>)}
          </ul>
        </>
      )}
    </section>
  );
}

/** Where the page of a call is shown: with its session, or with its question. @param {{id: string, all: Session[]}} props */
function OfCall({ id, all }) {
  const made = useLoaded(() => madeCall(id), [id]);
  const call = made.value;
  const session = call?.session && all.find((s) => s.node === call.node && s.caller === call.caller && s.site === call.site && s.session === call.session);
  useEffect(() => { if (session) location.replace(liveOf(session)); }, [session]);
  if (!call || made.problem !== undefined) return <Awaited of={made} />;
  return (
    <p role="status">Call <code>{visible(id)}</code> {call.status === 'running' ? 'runs in a page of its own, which is shown while it asks' : 'is over, and its page is not there any more'}.{call.question && <> <a href={`#/inbox/${encodeURIComponent(call.question)}`}>Open the question</a></>}</p>
  );
}

/** @param {{of: Session, seen: boolean, close: () => void}} props */
function Large({ of: s, seen, close: end }) {
  const at = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [whole, setWhole] = useState(false);
  useLayoutEffect(() => {
    if (!seen) return undefined;
    const { view, close } = show(`sessions/${encodeURIComponent(s.id)}`, { node: s.node, session: true });
    at.current?.replaceChildren(view);
    return close;
  }, [seen]);
  return (
    <section aria-label="Page">
      <p><Name text={s.caller} /> on <Name text={s.site} />, session <Name text={s.session} />. <Address of={s.address} domain={s.domain} /> <Copy text={s.address} what="the address" /></p>
      <OfPage seen={seen}> <button type="button" aria-pressed={whole} onClick={() => setWhole(!whole)}>100 %</button> <button type="button" aria-disabled={link.value.state !== 'live'} onClick={() => { if (link.value.state === 'live') end(); }}>Close the session</button></OfPage>
      <div ref={at} class={whole ? 'frame whole' : ''} {...(whole ? { tabIndex: 0, role: 'region', 'aria-label': 'The page, in its own size' } : {})} />
    </section>
  );
}

/** @param {{of: Session, seen: boolean}} props */
function Small({ of: s, seen }) {
  const at = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [problem, setProblem] = useState(false);
  useEffect(() => {
    if (!seen) return undefined;
    let over = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let next;
    const look = async () => {
      try {
        const picture = await createImageBitmap(await sessionPicture(s));
        if (at.current) {
          Object.assign(at.current, { width: picture.width, height: picture.height });
          at.current.getContext('2d')?.drawImage(picture, 0, 0);
        }
        picture.close();
        setProblem(false);
      } catch {
        setProblem(true); // the next one may come
      }
      if (!over) next = setTimeout(look, often);
    };
    look();
    return () => {
      over = true;
      clearTimeout(next);
    };
  }, [seen, s.id]);
  return (
    <a class="row-link" href={liveOf(s)} aria-label={`Live: ${visible(s.caller)} on ${visible(s.site)}, session ${visible(s.session).slice(0, 64)}`}>
      <canvas ref={at} width={0} height={0} aria-hidden="true" />
      <span>{visible(s.caller)} on {visible(s.site)}{problem && ': no picture'}</span>
    </a>
  );
}
