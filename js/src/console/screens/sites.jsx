// @ts-check
// The sites that are served, and what each has: its tools, and what its author should know.

import { computed } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';

import { siteFindings, siteTools } from '../api.js';
import { callsOf, loadStats, minutes } from '../calls/stats.js';
import { place } from '../route.js';
import { link, now, settled, sites } from '../store.js';
import { visible } from '../text.js';
import { Sparkline } from '../ui/chart.jsx';
import { useKeptFocus } from '../ui/focus.js';
import { Awaited, useLoaded } from '../ui/load.jsx';
import { Address, Name } from '../ui/said.jsx';
import { Findings, Tool, stakeOf } from './tool.jsx';
import { Page, Versions } from './versions.jsx';

/** @typedef {import('../store.js').KnownSite} Site */

const sorted = computed(() => [...sites.value.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.node < b.node ? -1 : 1)));
const nodes = computed(() => new Set(sorted.value.map((s) => s.node)).size);

const marked = 60_000; // milliseconds for which a tool that came is marked

/** The address of a site here, or of what is under it. @param {Site} s @param {string[]} under */
export const addressOf = (s, ...under) => `#/${['sites', s.name, ...under].map(encodeURIComponent).join('/')}${nodes.value > 1 ? `?node=${encodeURIComponent(s.node)}` : ''}`;

/** @param {{state: string, error?: string | undefined}} props */
function State({ state, error }) {
  const [shape, word] = state === 'open' && !error ? ['✓', 'open'] : state === 'opening' ? ['◌', 'opening'] : ['✕', 'not open'];
  return <span class={shape === '✕' ? 'problem' : ''}><span aria-hidden="true">{shape}</span> {word}</span>;
}

export function Sites() {
  const [name, tab = 'tools', tool] = place.value.rest;
  const node = place.value.query.get('node');
  if (name === undefined) return <All />;
  const site = sorted.value.find((s) => s.name === name && (node === null || s.node === node));
  if (site === undefined) return settled.value ? <Gone name={name} /> : <><h1>Sites</h1><p class="skeleton" aria-hidden="true" /></>;
  return <One key={`${site.node} ${name}`} site={site} tab={tab} tool={tool} />;
}

/** @param {{name: string}} props */
function Gone({ name }) {
  useKeptFocus('site-title');
  return (
    <section aria-labelledby="site-title">
      <p><a href="#/sites">All sites</a></p>
      <h1 id="site-title" tabIndex={-1}>Sites</h1>
      <p class="problem" role="status">No site <Name text={name} /> is served now.</p>
    </section>
  );
}

/** How many tools came and went in the last hour, as far as this page saw it. @param {Site} s */
function moved(s) {
  const sum = { added: 0, removed: 0 };
  for (const one of s.seen) {
    if (now.value - one.at > 3_600_000) continue;
    sum.added += one.added.length;
    sum.removed += one.removed.length;
  }
  return [sum.added ? `+${sum.added}` : '', sum.removed ? `−${sum.removed}` : ''].filter(Boolean).join(' ');
}

/** The calls of a site in the last minutes, and its errors. @param {{site: Site}} props */
function Traffic({ site }) {
  const at = Math.max(now.value, Date.now());
  const { each, calls, errors } = callsOf(site.node, site.name, at);
  if (calls === 0) return <><td /><td /></>;
  const q = new URLSearchParams({ q: `site:${site.name} status:error since:${minutes}m` });
  return (
    <>
      <td><Sparkline of={each} label={`${calls} ${calls === 1 ? 'call' : 'calls'} in ${minutes} minutes`} /> {each.at(-1)}</td>
      <td>{errors === 0 ? '0 %' : <a href={`#/calls?${q}`}>{errors < calls && errors * 100 < calls ? '<1' : Math.round(errors * 100 / calls)} %</a>}</td>
    </>
  );
}

function All() {
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    title.current?.focus();
    loadStats();
  }, []);
  useKeptFocus('sites-title');
  const all = sorted.value;
  return (
    <section aria-labelledby="sites-title">
      <h1 id="sites-title" ref={title} tabIndex={-1}>Sites</h1>
      {!settled.value && link.value.state !== 'offline' && <p class="skeleton" aria-hidden="true" />}
      {settled.value && all.length === 0 && <p>No site is served. Try <code>pagetools serve https://shop.example</code>, or <code>pagetools demo</code>.</p>}
      {all.length > 0 && (
        <div class="frame" tabIndex={0} role="region" aria-label="Table of sites">
          <table class="list">
            <thead><tr>{['State', 'Site', 'Origin', 'Tools', 'Version', 'Findings', 'Calls a minute', 'Errors', 'Engine', ...(nodes.value > 1 ? ['Process'] : [])].map((h) => <th scope="col">{h}</th>)}</tr></thead>
            <tbody>
              {all.map((s) => (
                <tr key={`${s.node} ${s.name}`}>
                  <td><State state={s.state} error={s.error} /></td>
                  <th scope="row"><a class="row-link" dir="auto" href={addressOf(s)}>{visible(s.name)}</a></th>
                  <td><Address of={s.origin || s.target} domain={s.domain} />{s.kind !== 'page' && ` ${s.kind === 'api' ? 'API' : s.kind}`}</td>
                  <td>{s.error ? <span class="problem">unknown</span> : s.tools} {moved(s)}</td>
                  <td>{visible(s.version)}</td><td>{s.findings}</td><Traffic site={s} /><td>{visible(s.engine)}</td>{nodes.value > 1 && <td>{visible(s.node)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** A site and what its tab shows. @param {{site: Site, tab: string, tool: string | undefined}} props */
function One({ site, tab, tool }) {
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => title.current?.focus(), []);
  useKeptFocus('site-title');
  const why = site.error ?? (site.state === 'open' || site.state === 'opening' ? '' : site.state);
  return (
    <section aria-labelledby="site-title">
      <p><a href="#/sites">All sites</a></p>
      <h1 id="site-title" ref={title} tabIndex={-1}><Name text={site.name} /></h1>
      <p class="meta"><State state={site.state} error={site.error} /> · <Address of={site.origin || site.target} domain={site.domain} />{site.version && ` · version ${visible(site.version)}`}{site.engine && ` · ${visible(site.engine)}`}</p>
      {why && <p class="problem">{visible(why)}</p>}
      <nav class="tabs" aria-label="Of this site">
        <a href={addressOf(site)} aria-current={tab === 'tools' ? 'page' : undefined}>Tools <span class="count">{site.tools}</span></a>{' '}
        <a href={addressOf(site, 'findings')} aria-current={tab === 'findings' ? 'page' : undefined}>Findings <span class="count">{site.findings}</span></a>{' '}
        <a href={addressOf(site, 'versions')} aria-current={tab === 'versions' ? 'page' : undefined}>Versions</a>{' '}
        <a href={addressOf(site, 'page')} aria-current={tab === 'page' ? 'page' : undefined}>Page</a>
      </nav>
      {tab === 'versions' ? <Versions site={site} pair={tool} to={(pair) => addressOf(site, 'versions', pair)} /> : tab === 'page' ? <Page site={site} /> : tab === 'findings' ? <Known site={site} /> : <Tools site={site} tool={tool} />}
    </section>
  );
}

/** @param {{site: Site}} props */
function Known({ site }) {
  const found = useLoaded(() => siteFindings(site.name, site.node), [site]);
  return (
    <>
      <Awaited of={found} />
      {found.value?.length === 0 && <p>pagetools finds nothing wrong with what this site declares. <code>pagetools check</code> looks closer.</p>}
      {found.value && <Findings all={found.value} named />}
    </>
  );
}

/** The tools of a site; the one that the address names is open. @param {{site: Site, tool: string | undefined}} props */
function Tools({ site, tool }) {
  const tools = useLoaded(() => siteTools(site.name, site.node), [site]);
  const [filter, setFilter] = useState('');
  const wanted = filter.toLowerCase();
  const all = tools.value ?? [];
  const shown = all.filter((t) => t.name.toLowerCase().includes(wanted) || t.title.toLowerCase().includes(wanted));
  const open = all.find((t) => t.name === tool);
  const fresh = new Set(site.seen.filter((one) => now.value - one.at < marked).flatMap((one) => one.added));
  return (
    <>
      <Awaited of={tools} />
      {tools.value?.length === 0 && <p>This site has no tools now. <code>pagetools check</code> says what its page declares, and what is wrong with it.</p>}
      {all.length > 0 && (
        <div class="columns tools">
          <div>
            <label for="tool-filter">Filter</label>{' '}
            <input id="tool-filter" type="search" class="filter" autocomplete="off" spellcheck={false} value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
            <p class="meta" role="status">{shown.length === all.length ? '' : `${shown.length} of ${all.length} tools`}</p>
            <ul class="rows" aria-label="Tools">
              {shown.map((t) => {
                const { rank, shape, word } = stakeOf(t);
                return (
                  <li key={t.name}>
                    <a class={`row row-link rank${rank}`} href={addressOf(site, 'tools', t.name)} aria-current={t === open ? 'true' : undefined}>
                      <span class="severity"><span aria-hidden="true">{shape}</span> {word}</span>
                      <span class="title" dir="auto">{visible(t.name)}</span>
                      <span class="who" dir="auto">{visible(t.title || t.description.slice(0, 200))}</span>
                      {fresh.has(t.name) && <span class="left">new</span>}
                    </a>
                  </li>
                );
              })}
            </ul>
          </div>
          {open && <Tool key={open.name} site={site} tool={open} changed={tools.load} />}
          {tool !== undefined && !open && <p class="problem" role="status">The site has no tool <Name text={tool} /> now.</p>}
        </div>
      )}
    </>
  );
}
