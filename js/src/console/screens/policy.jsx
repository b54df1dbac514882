// @ts-check
// What would become of a call, and why; the consent that stands; the tools that nobody has seen.

import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';

import { ApiError, siteTools } from '../api.js';
import { callers, decision, grants, revoke, unseen } from '../api-policy.js';
import { noteQuery, place } from '../route.js';
import { link, me, settled, sites } from '../store.js';
import { visible } from '../text.js';
import { useKeptFocus } from '../ui/focus.js';
import { Awaited, told, useLoaded } from '../ui/load.jsx';
import { Name } from '../ui/said.jsx';
import { Sure } from '../ui/sure.jsx';

/** @typedef {import('../api-policy.js').Decision} Decision */
/** @typedef {import('../api-policy.js').Grant} Grant */

/** The layers, in words for people. @type {Record<string, string>} */
const layers = {
  operator: 'Operator', site: 'Terms that the site publishes', hints: 'What the page says of the tool', request: 'The request itself',
  taint: 'What the caller has read of strangers', unseen: 'New tool',
};

/** What a level wants. @type {Record<string, string>} */
const levels = { auto: 'runs', 'ask-once': 'asks, and the answer can be kept', ask: 'asks each time', never: 'refuses' };

/** What would become of a call: a shape, how it begins, the word, and why. @param {Decision} d @returns {[string, string, string]} */
function verdict(d) {
  if (d.refused) return ['✕', 'be refused', ` before the policy is asked: ${d.refused.error.message}`];
  if (d.level === 'never') return ['✕', 'be refused', `: ${d.reason}.`];
  if (d.standing) return ['✓', 'run', ': a person agreed to such calls for good.'];
  if (d.level === 'auto') return ['✓', 'run without a question', `: ${d.reason}.`];
  return ['◌', 'be asked about', `${d.level === 'ask-once' ? ', and the answer can be kept' : ' each time'}: ${d.reason}.`];
}

/** How much consent was taken back here: what depends on it is asked for again. */
const revoked = signal(0);

export function Policy() {
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => title.current?.focus(), []);
  useKeptFocus('policy-title');
  return (
    <section aria-labelledby="policy-title">
      <h1 id="policy-title" ref={title} tabIndex={-1}>Policy</h1>
      <Choose />
      <Grants />
      <Unseen />
    </section>
  );
}

/** Asks for a site, a tool and a caller, and says what would become of the call. The address has them. */
function Choose() {
  const { query } = place.value;
  const all = [...sites.value.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.node < b.node ? -1 : 1));
  const name = query.get('site') ?? '', node = query.get('node') ?? '';
  const site = all.find((s) => s.name === name && (node === '' || s.node === node)) ?? (name === '' ? all[0] : undefined);
  const several = new Set(all.map((s) => s.node)).size > 1;
  if (all.length === 0) {
    if (!settled.value) return link.value.state === 'offline' ? null : <p class="skeleton" aria-hidden="true" />;
    return <p>No site is served, so that no call can be made. Try <code>pagetools serve https://shop.example</code>, or <code>pagetools demo</code>.</p>;
  }
  return (
    <>
      <p class="bar-of chosen">
        <label>Site <select value={site ? `${site.node} ${site.name}` : ''} onChange={(e) => {
          const next = all.find((s) => `${s.node} ${s.name}` === e.currentTarget.value);
          if (next) noteQuery('policy', { site: next.name, node: several ? next.node : '', caller: query.get('caller') ?? '' });
        }}>
          {site === undefined && <option value="">{visible(name)} (not served)</option>}
          {all.map((s) => <option key={`${s.node} ${s.name}`} value={`${s.node} ${s.name}`}>{visible(s.name)}{several && ` (${visible(s.node)})`}</option>)}
        </select></label>
      </p>
      {site ? <OfSite key={`${site.node} ${site.name}`} site={site} several={several} /> : <p class="problem" role="status">No site <Name text={name} /> is served now.</p>}
    </>
  );
}

/** @param {{site: import('../api.js').Site, several: boolean}} props several says that there is more than one process */
function OfSite({ site, several }) {
  const { query } = place.value;
  const tools = useLoaded(() => siteTools(site.name, site.node), [site]);
  const known = useLoaded(() => callers(site.node), []);
  const [input, setInput] = useState('');
  const tool = query.get('tool') ?? tools.value?.[0]?.name ?? '', caller = query.get('caller') ?? known.value?.[0]?.name ?? '';
  /** @param {Record<string, string>} more */
  const choose = (more) => noteQuery('policy', { site: site.name, node: several ? site.node : '', tool, caller, ...more });
  return (
    <>
      <p class="bar-of chosen">
        <label>Tool <select value={tool} onChange={(e) => choose({ tool: e.currentTarget.value })}>
          {tool !== '' && !tools.value?.some((t) => t.name === tool) && <option value={tool}>{visible(tool)}</option>}
          {tools.value?.map((t) => <option key={t.name} value={t.name}>{visible(t.name)}</option>)}
        </select></label>
        <label>Caller <input type="text" list="policy-callers" autocomplete="off" spellcheck={false} value={caller} onChange={(e) => choose({ caller: e.currentTarget.value.trim() })} /></label>
        <datalist id="policy-callers">{known.value?.map((c) => <option key={c.name} value={c.name} />)}</datalist>
        <label>Arguments <input type="text" id="policy-input" autocomplete="off" spellcheck={false} placeholder="JSON; none means any" maxLength={4096} onChange={(e) => setInput(e.currentTarget.value.trim())} /></label>
      </p>
      <Awaited of={tools} />
      {known.problem !== undefined && <Awaited of={known} />}
      {tool === '' && tools.value && <p>This site has no tools now. <code>pagetools check</code> says what its page declares, and what is wrong with it.</p>}
      {caller === '' && known.value && <p>Name a caller: one of <code>callers</code> in the configuration, or one that an issuer names.</p>}
      {tool !== '' && caller !== '' && <Decided call={{ site: site.name, node: site.node, tool, caller, ...(input === '' ? {} : { input }) }} on={[tools.value]} />}
    </>
  );
}

/** What would become of a call. @param {{call: {site: string, node: string, tool: string, caller: string, input?: string}, on: unknown[]}} props */
function Decided({ call, on }) {
  const of = useLoaded(() => decision(call), [call.site, call.node, call.tool, call.caller, call.input, revoked.value, ...on]);
  const d = of.value;
  if (!d || of.problem !== undefined) return <Awaited of={of} />;
  const [shape, word, why] = verdict(d);
  return (
    <div class="decided">
      <p role="status" class={shape === '✕' ? 'problem' : ''}><span aria-hidden="true">{shape}</span> This call would <strong>{word}</strong>{visible(why)}</p>
      {!d.known && <p class="meta">The configuration has no caller <Name text={call.caller} />. Of others, such as those that an issuer names, no consent that stands counts here: their credentials are not known.</p>}
      {d.layers.length > 0 && (
        <div class="frame" tabIndex={0} role="region" aria-label="Layers of the decision">
          <table class="list prose">
            <thead><tr>{['Layer', 'Wants', 'Why'].map((h) => <th scope="col">{h}</th>)}</tr></thead>
            <tbody>
              {d.layers.map((l, i) => (
                <tr key={i}>
                  <th scope="row">{layers[l.name] ?? l.name}</th>
                  <td>{l.level === 'auto' && i > 0 ? 'nothing' : levels[l.level] ?? l.level}{l.decided && <strong> ✓ decided</strong>}</td>
                  <td>{visible(l.reason)}{i === 0 && <Rule of={d} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

/** The operator's rule, and where it is written. @param {{of: Decision}} props */
function Rule({ of: { rule, mode } }) {
  if (!rule) return <> (mode {visible(mode)}, and no rule names the tool)</>;
  return <>: {visible([rule.origin, rule.pattern].filter(Boolean).join(' '))} = {rule.level}{rule.at && `, ${visible(rule.at)}`} (mode {visible(mode)})</>;
}

/** Why consent that stands covers nothing now. @type {Record<string, string>} */
const covers = {
  changed: 'It covers nothing now: the tool has another definition.', gone: 'It covers nothing now: its site has no such tool.',
  credential: 'It covers nothing now: the caller has another credential.',
};

function Grants() {
  const may = me.value === undefined || me.value.rights.includes('answer');
  const list = useLoaded(async () => (may ? grants() : undefined), [may]);
  const [asks, setAsks] = useState(/** @type {Grant | null} */ (null));
  const [said, setSaid] = useState('');
  /** @param {Grant} g */
  const end = async (g) => {
    try {
      await revoke(g.id);
      setSaid(`Revoked: ${visible(g.caller)} is asked again about ${visible(g.tool)}.`);
    } catch (e) {
      setSaid(e instanceof ApiError && e.status === 404 ? 'It was revoked already.' : told(e));
    }
    document.getElementById('grants-title')?.focus();
    revoked.value++;
    await list.load();
  };
  const all = list.value?.items;
  return (
    <section class="part" aria-labelledby="grants-title">
      <h2 id="grants-title" tabIndex={-1}>Consent that stands</h2>
      <p role="status">{said}</p>
      {may ? <Awaited of={list} /> : <p>Not allowed: you lack the right answer.</p>}
      {all?.length === 0 && <p>None. Where the level is <code>ask-once</code>, a person can agree to all further calls of a tool.</p>}
      {list.value?.next && <p class="meta">The newest 1,000 are shown. <code>pagetools approve --list</code> has all.</p>}
      {all && all.length > 0 && (
        <ul class="clients">
          {all.map((g) => (
            <li key={g.id}>
              <Name text={g.caller} /> may run <Name text={g.tool} /> on <Name text={g.site} />, with any arguments{g.page && ', in a page that its config changes'}; given by {visible(g.givenBy)}, <time dateTime={g.givenAt} title={g.givenAt}>{new Date(g.givenAt).toLocaleString()}</time>.
              {' '}{covers[g.state] && <span class="meta">{covers[g.state]} </span>}
              <button type="button" aria-label={`Revoke: ${visible(g.tool)} on ${visible(g.site)} for ${visible(g.caller)}`} onClick={() => setAsks(g)}>Revoke</button>
            </li>
          ))}
        </ul>
      )}
      {asks && (
        <Sure title="Revoke this consent?" verb="Revoke" run={() => end(asks)} stop={() => setAsks(null)}>
          <p><Name text={asks.caller} /> is asked again about <Name text={asks.tool} /> on <Name text={asks.site} />. Calls that wait for their page under it do not run.</p>
        </Sure>
      )}
    </section>
  );
}

function Unseen() {
  const list = useLoaded(unseen, [sites.value, revoked.value]);
  const all = list.value?.items;
  return (
    <section class="part" aria-labelledby="unseen-title">
      <h2 id="unseen-title" tabIndex={-1}>Tools that nobody has seen</h2>
      <Awaited of={list} />
      {all?.length === 0 && <p>None. A tool that comes to a site after somebody agreed there to further calls is asked about once.</p>}
      {list.value?.missing?.map((m) => <p class="problem">Process {visible(m.node)} does not answer.</p>)}
      {all && all.length > 0 && (
        <ul class="clients">
          {all.map((u) => (
            <li key={`${u.node} ${u.site} ${u.tool}`}><a href={`#/sites/${encodeURIComponent(u.site)}/tools/${encodeURIComponent(u.tool)}?node=${encodeURIComponent(u.node)}`}>{visible(u.tool)}</a> on <Name text={u.site} /> is asked about until somebody agrees to it.</li>
          ))}
        </ul>
      )}
    </section>
  );
}
