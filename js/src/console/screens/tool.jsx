// @ts-check
// A tool: what its page says of it, what pagetools does when it is called, and a form for its arguments.

import { useEffect, useRef, useState } from 'preact/hooks';

import { validate } from '../api.js';
import { FormView } from '../form/field.jsx';
import { Form } from '../form/model.js';
import { place } from '../route.js';
import { visible } from '../text.js';
import { told } from '../ui/load.jsx';
import { Name, Said } from '../ui/said.jsx';
import { Run } from './run.jsx';

/** @typedef {import('../api.js').Tool} Tool */
/** @typedef {import('../api.js').Finding} Finding */

/**
 * What is at stake when a tool runs: a rank (0 is the gravest), a shape and a word.
 * @param {Tool} t
 */
export function stakeOf({ terms }) {
  if (terms.destructive) return { rank: 0, shape: '▲', word: 'destructive' };
  if (terms.readsOnly) return { rank: 3, shape: '●', word: 'only reads' };
  return { rank: 1, shape: '◆', word: 'may change' };
}

/** What happens at a call, by the level. @type {Record<string, string>} */
const levels = { auto: 'runs without a question', 'ask-once': 'asks once', ask: 'asks each time', never: 'is refused' };

const mostGiven = 4096; // characters of a value in the address
const mostDrafts = 20;

/** Forms that somebody began, so that going elsewhere in this page loses nothing. @type {Map<string, {form: Form, digest: string, given: string | undefined}>} */
const drafts = new Map();

/**
 * The form of a tool: the one that was begun, or another one with its value when the definition changed meanwhile.
 * @param {string} key @param {Tool} tool
 */
function formOf(key, tool) {
  const before = drafts.get(key);
  const value = place.value.query.get('in') ?? undefined;
  const given = value !== undefined && value.length <= mostGiven ? value : undefined;
  if (before?.digest === tool.digest && (given === undefined || given === before.given || before.form.changed.value)) return before.form;
  const kept = before?.form.changed.value ? before.form.outcome.value.text ?? before.form.raw.value : given;
  const form = new Form({ schema: tool.schema, ...(kept === undefined ? {} : { value: kept }) });
  drafts.delete(key);
  drafts.set(key, { form, digest: tool.digest, given });
  for (const [old, draft] of drafts) if (drafts.size > mostDrafts && !draft.form.changed.value) drafts.delete(old);
  return form;
}

addEventListener('beforeunload', (e) => { if ([...drafts.values()].some((d) => d.form.changed.value)) e.preventDefault(); });

/** @param {{site: import('../api.js').Site, tool: Tool, changed: () => void}} props changed asks for the tools again */
export function Tool({ site, tool, changed }) {
  const form = formOf(`${site.node} ${site.name} ${tool.name}`, tool);
  const title = useRef(/** @type {HTMLElement | null} */ (null));
  const [errors, setErrors] = useState(/** @type {{pointer: string, message: string}[]} */ ([]));
  const [said, setSaid] = useState({ words: '', of: /** @type {string | undefined} */ ('') }); // of a value: of another one, nothing is said
  useEffect(() => {
    const run = place.value.query.get('at') === 'run' ? title.current?.closest('.card')?.querySelector('[data-run]') : null;
    (/** @type {HTMLElement | null | undefined} */ (run) ?? title.current)?.focus();
  }, []);
  const { text, problem } = form.outcome.value;
  const check = async () => {
    const say = (/** @type {string} */ words) => setSaid({ words, of: text });
    setErrors([]);
    if (text === undefined) {
      say(`Not checked: ${problem}`);
      return;
    }
    try {
      const found = await validate(site.name, site.node, tool.name, text);
      setErrors(found);
      say(found.length === 0 ? 'The arguments fit.' : found.length === 1 ? 'One thing does not fit.' : `${found.length} things do not fit.`);
    } catch (e) {
      say(told(e));
    }
  };
  const { shape, word, rank } = stakeOf(tool);
  const by = `${site.kind === 'api' ? 'API' : 'Page'} of ${visible(site.name)} says`;
  const { terms } = tool;
  return (
    <article class={`card rank${rank}`} aria-labelledby="tool-title" onKeyDown={(e) => {
      if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey) || e.repeat || e.isComposing || document.querySelector('dialog[open]')) return;
      e.preventDefault();
      /** @type {HTMLElement | null} */ (e.currentTarget.querySelector('[data-run]'))?.click();
    }}>
      <h2 id="tool-title" ref={title} tabIndex={-1}><Name text={tool.name} /></h2>
      <p class="stake"><span class="severity"><span aria-hidden="true">{shape}</span> {word}</span></p>
      <p class="meta">A call {levels[terms.level] ?? terms.level}: {visible(terms.reason)}. <a href={`#/policy?${new URLSearchParams({ site: site.name, tool: tool.name, node: site.node })}`}>Why</a>.{terms.untrusted && ' What it returns are words of strangers.'}{tool.frame && <> Of a frame: <Name text={tool.frame} />.</>}</p>
      <Findings all={tool.findings} />
      {(tool.title || tool.description) && <Said by={by} text={[tool.title, tool.description].filter(Boolean).join('\n')} />}
      <FormView key={form.id} form={form} errors={errors} label={`Arguments of ${visible(tool.name)}`} />
      <p class="answers"><button type="button" onClick={check}>Check</button> <span role="status">{said.of === text && said.words}</span> <span class="meta">Whether the arguments fit: nothing reaches the page.</span></p>
      <Run site={site} tool={tool} text={text} problem={problem} changed={changed} />
    </article>
  );
}

/** @param {{all: Finding[], named?: boolean}} props */
export function Findings({ all, named = false }) {
  if (all.length === 0) return null;
  return (
    <ul class="findings" aria-label="Findings">
      {all.map((f) => (
        <li class="problem"><span aria-hidden="true">✕</span> {named && f.tool && <><Name text={f.tool} />: </>}{visible(f.message)} <code>{f.rule}</code>{f.refused && ' It cannot be called.'}</li>
      ))}
    </ul>
  );
}
