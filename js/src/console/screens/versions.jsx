// @ts-check
// How the tools of a site changed, and what page it is.

import { useState } from 'preact/hooks';

import { siteTools } from '../api.js';
import { difference, versions } from '../api-versions.js';
import { visible } from '../text.js';
import { Awaited, useLoaded } from '../ui/load.jsx';
import { Address, Name } from '../ui/said.jsx';
import { CopyAs } from './copy.jsx';

/** @typedef {import('../store.js').KnownSite} Site */
/** @typedef {import('../api-versions.js').Version} Version */
/** @typedef {import('../api-versions.js').Change} Change */

/** A shape and words for how grave a change is. @type {Record<string, [string, string]>} */
const severities = { breaking: ['▲', 'breaking'], addition: ['◆', 'addition'], text: ['●', 'text only'] };

const day = 86_400_000; // milliseconds

/** @param {{of: string}} props */
function Severity({ of }) {
  const [shape, word] = severities[of] ?? ['', 'first'];
  return <span class={of === 'breaking' ? 'problem' : ''}>{shape && <span aria-hidden="true">{shape} </span>}{word}</span>;
}

/**
 * The version that was there a day ago, as far as that is kept: each is known by when it came the last time.
 * @param {Version[]} all
 */
function yesterday(all) {
  const known = all.filter((v) => v.since !== null).sort((a, b) => Date.parse(b.since ?? '') - Date.parse(a.since ?? ''));
  return known.find((v) => Date.parse(v.since ?? '') <= Date.now() - day) ?? known.at(-1);
}

/** @param {{site: Site, pair: string | undefined, to: (pair: string) => string}} props to is the address of two versions */
export function Versions({ site, pair, to }) {
  const list = useLoaded(() => versions(site), [site]);
  const [pinned, pin] = useState('');
  const all = list.value ?? [];
  const current = all.find((v) => v.current) ?? all[0];
  const [a = '', b = ''] = pair?.split('..') ?? [];
  const from = a || all[1]?.version || '', until = b || current?.version || '';
  const base = yesterday(all);
  /** @param {string} x @param {string} y */
  const show = (x, y) => { location.hash = to(`${x}..${y}`); };
  return (
    <>
      <Awaited of={list} />
      {list.value?.length === 0 && <p>No version is kept yet: the first comes with the first tools of this site.</p>}
      {all.length > 0 && (
        <>
          <p class="bar-of chosen">
            <label>From <Choice all={all} value={from} set={(v) => show(v, until)} /></label>
            <label>to <Choice all={all} value={until} set={(v) => show(from, v)} /></label>
            {base && current && base !== current
              ? <a href={to(`${base.version}..${current.version}`)}>Since yesterday</a>
              : <span class="meta">Nothing changed since yesterday.</span>}
          </p>
          {from !== '' && until !== '' && <Difference key={`${from}..${until}`} site={site} from={from} to={until} />}
          <h2>History</h2>
          <div class="frame" tabIndex={0} role="region" aria-label="Table of versions">
            <table class="list prose">
              <thead><tr>{['Version', 'Change', 'Came, or came back', ''].map((h) => <th scope="col">{h || <span class="visually-hidden">Actions</span>}</th>)}</tr></thead>
              <tbody>
                {all.map((v, i) => (
                  <tr key={v.version}>
                    <th scope="row">{all[i + 1] ? <a class="row-link" href={to(`${all[i + 1]?.version}..${v.version}`)}>{visible(v.version)}</a> : visible(v.version)}{v.current && ' (now)'}</th>
                    <td><Severity of={v.severity} /></td>
                    <td>{v.since && <time dateTime={v.since} title={v.since}>{new Date(v.since).toLocaleString()}</time>}</td>
                    <td><button type="button" aria-expanded={pinned === v.version} aria-label={`Pin this: ${v.version}`} onClick={() => pin(pinned === v.version ? '' : v.version)}>Pin this</button></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {pinned !== '' && <Pin key={pinned} site={site} version={pinned} />}
        </>
      )}
    </>
  );
}

/** @param {{all: Version[], value: string, set: (version: string) => void}} props */
function Choice({ all, value, set }) {
  return (
    <select value={value} onChange={(e) => set(e.currentTarget.value)}>
      {!all.some((v) => v.version === value) && <option value={value}>{visible(value)}</option>}
      {all.map((v) => <option key={v.version} value={v.version}>{v.version}{v.current && ' (now)'}</option>)}
    </select>
  );
}

/** A call that names its version. @param {{site: Site, version: string}} props */
function Pin({ site, version }) {
  const tools = useLoaded(() => siteTools(site.name, site.node), [site]);
  const [chosen, choose] = useState('');
  const tool = chosen || tools.value?.[0]?.name || '';
  return (
    <section class="part" aria-label={`A call of version ${version}`}>
      <p>A call that names version <code>{visible(version)}</code> is refused as soon as its tool is not as it was then.</p>
      <Awaited of={tools} />
      {tool !== '' && (
        <>
          <p class="bar-of chosen"><label>Tool <select value={tool} onChange={(e) => choose(e.currentTarget.value)}>{tools.value?.map((t) => <option key={t.name} value={t.name}>{visible(t.name)}</option>)}</select></label></p>
          <CopyAs site={site} tool={tool} text="{}" problem={undefined} version={version} />
        </>
      )}
    </section>
  );
}

/** Two versions side by side. @param {{site: Site, from: string, to: string}} props */
function Difference({ site, from, to }) {
  const found = useLoaded(() => difference(site, from, to), []);
  const d = found.value;
  if (!d) return <Awaited of={found} />;
  const words = d.changes.length > 0 && d.changes.every((c) => c.severity === 'text');
  return (
    <section class="part difference" aria-labelledby="difference-title">
      <h2 id="difference-title" tabIndex={-1}>From {visible(from)} to {visible(to)}</h2>
      <p role="status">{d.changes.length === 0 ? 'Their tools are the same.' : <><Severity of={d.severity} />: {d.changes.length + d.more} {d.changes.length + d.more === 1 ? 'difference' : 'differences'}.</>}</p>
      {words && <p class="waits"><span aria-hidden="true">▲</span> Only words changed. An agent reads them: other words can lead it to other tasks, or tell it to do what nobody wanted. Read both sides.</p>}
      {d.changes.map((c) => <One key={`${c.tool} ${c.path} ${c.what}`} of={c} by={`${site.kind === 'api' ? 'API' : 'Page'} of ${visible(site.name)}`} />)}
      {d.more > 0 && <p class="meta">{d.more} more are not shown.</p>}
    </section>
  );
}

/** @param {{of: Change, by: string}} props by says whose words they are */
function One({ of: c, by }) {
  return (
    <article class="change">
      <p><Severity of={c.severity} /> <Name text={c.tool} />{c.before && <> (was <Name text={c.before} />)</>}{c.path && <> <code dir="auto">{visible(c.path)}</code></>}</p>
      <p class="meta" dir="auto">{visible(c.severity === 'text' && (c.was || c.is) ? c.reason : [c.what, c.reason].filter(Boolean).join(': '))}.</p>
      {(c.was || c.is) && (
        <div class="sides">
          {/** @type {const} */ ([['said', c.was], ['says', c.is]]).map(([verb, text]) => (
            <figure class="said" key={verb}>
              <figcaption>{by} {verb}{text ? ':' : ' nothing.'}</figcaption>
              {text && <pre tabIndex={0} dir="auto">{visible(text)}</pre>}
            </figure>
          ))}
        </div>
      )}
    </article>
  );
}

/** What page a site is, by text only. @param {{site: Site}} props */
export function Page({ site }) {
  const tools = useLoaded(() => siteTools(site.name, site.node), [site]);
  const frames = new Map((tools.value ?? []).filter((t) => t.frame).map((t) => [`${t.frame} ${t.origin}`, t]));
  /** @type {[string, string][]} */
  const facts = [
    ['Address', site.target], ['Origin', site.origin], ['Kind', site.kind === 'api' ? 'API' : site.kind], ['State', site.error ?? site.state],
    ['Opened with', site.engine], ['Version of its tools', site.version], ['Process', site.node],
  ];
  return (
    <>
      <dl class="facts">{facts.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd dir="auto">{visible(value)}</dd></div>)}</dl>
      <h2>Frames that declare tools</h2>
      <Awaited of={tools} />
      {tools.value && frames.size === 0 && <p>None: all tools are of the page itself.</p>}
      {frames.size > 0 && <ul>{[...frames].map(([key, t]) => <li key={key}><Name text={t.frame ?? ''} />, <Address of={t.origin} domain={t.domain} /></li>)}</ul>}
    </>
  );
}
