// @ts-check
// What the palette has: screens, sites and their tools, questions, the last calls, and what can be done anywhere.

import { useEffect, useState } from 'preact/hooks';

import { callRecords, siteTools } from '../api.js';
import { verify } from '../api-audit.js';
import { pause, paused } from '../calls/list.js';
import { go } from '../route.js';
import { entries, focusNext, order, sites } from '../store.js';
import { helpOpen } from '../ui/open.js';
import { Palette } from '../ui/palette.jsx';
import { turn } from '../ui/theme.jsx';
import { timeline } from './timeline.jsx';

/** @typedef {import('../ui/palette.jsx').Choice} Choice */

/** The names of tools, by process, site and version of its tools. @type {Map<string, string[]>} */
const known = new Map();
const mostKnown = 200;
const lastCalls = 20;

/** @param {{screens: {name: string, title: string}[]}} props */
export function Anywhere({ screens }) {
  const [, setRead] = useState(0);
  const [last, setLast] = useState(/** @type {import('../calls/filter.js').Call[]} */ ([]));
  useEffect(() => { callRecords('', '').then((list) => setLast(list.items), () => {}); }, []); // without an answer there are none to go to
  const all = [...sites.value.values()];
  useEffect(() => {
    let gone = false;
    (async () => {
      for (const s of all) {
        if (gone || known.has(keyOf(s))) continue;
        const names = await siteTools(s.name, s.node).then((tools) => tools.map((t) => t.name), () => []); // those of a site that does not answer are missing
        known.set(keyOf(s), names);
        for (const old of known.keys()) if (known.size > mostKnown) known.delete(old);
        if (!gone) setRead((n) => n + 1);
      }
    })();
    return () => { gone = true; };
  }, [all.map(keyOf).join()]);
  const several = new Set(all.map((s) => s.node)).size > 1;
  /** @param {string[]} path @param {string} node */
  const at = (path, node) => () => { location.hash = `#/${path.map(encodeURIComponent).join('/')}${several ? `?node=${encodeURIComponent(node)}` : ''}`; };
  /** @type {Choice[]} */
  const choices = [
    ...order.value.flatMap((id) => {
      const q = entries.value.get(id)?.q;
      return q === undefined ? [] : [{ kind: 'question', of: q.site, name: q.title, act() {
        focusNext.value = 'card';
        go('inbox', id);
      } }];
    }),
    ...screens.map(({ name, title }) => ({ kind: 'screen', name: title, act() {
      if (name === 'inbox') focusNext.value = 'inbox';
      go(name);
    } })),
    ...all.map((s) => ({ kind: 'site', name: s.name, act: at(['sites', s.name], s.node) })),
    ...all.flatMap((s) => (known.get(keyOf(s)) ?? []).map((name) => ({ kind: 'tool', of: s.name, name, act: at(['sites', s.name, 'tools', name], s.node) }))),
    ...last.slice(0, lastCalls).map((c) => ({ kind: 'call', of: c.site, name: `${c.tool} ${c.call}`, act() { location.hash = `#/calls?sel=${encodeURIComponent(c.call)}`; } })),
    { kind: 'do', name: 'Change the theme', act: turn },
    { kind: 'do', name: paused.value ? 'Go on with live updates of calls' : 'Pause live updates of calls', act: pause },
    { kind: 'do', name: 'Show the timeline of calls', act() {
      timeline.value = true;
      go('calls');
    } },
    { kind: 'do', name: 'Verify the audit', act() { verify().finally(() => go('audit')); } },
    { kind: 'do', name: 'Show the keys and settings', act() { helpOpen.value = true; } },
  ];
  return <Palette choices={choices} />;
}

/** @param {import('../api.js').Site} s */
const keyOf = (s) => `${s.node} ${s.name} ${s.version} ${s.tools}`;
