// @ts-check
// Other arguments for a call that waits: a form for them, and what they change.

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';

import { argumentsSchema } from '../api.js';
import { differences } from '../form/diff.js';
import { FormView } from '../form/field.jsx';
import { parse } from '../form/json.js';
import { Form } from '../form/model.js';
import { isSecretName } from '../form/secret.js';
import { entries } from '../store.js';
import { visible } from '../text.js';
import { Awaited, useLoaded } from '../ui/load.jsx';

/** @typedef {import('../api.js').OpenQuestion} OpenQuestion */
/** @typedef {import('../form/diff.js').Difference} Difference */
/** @typedef {{pointer: string, message: string}} Fault */
/** @typedef {{open: boolean, text?: string | undefined, why?: string | undefined, other: boolean}} Edit text is the arguments as they are on the screen, or why says why there are none; other is whether they are others than the caller's */
/** @typedef {{q: OpenQuestion, tell: (edit: Edit) => void, stop: () => void, errors: Fault[]}} Props tell is told what is on the screen; errors are the server's */

const mostDrafts = 20;
const mostShown = 200;

/** Forms that somebody began, by question: to look at another one loses nothing. @type {Map<string, Form>} */
const drafts = new Map();

addEventListener('beforeunload', (e) => { if ([...drafts].some(([id, form]) => entries.value.has(id) && form.changed.value)) e.preventDefault(); });

/** @param {OpenQuestion} q @returns {Promise<Form>} */
async function draftOf(q) {
  const before = drafts.get(q.id);
  if (before) return before;
  const form = new Form({ schema: await argumentsSchema(q.id) ?? '{}', value: JSON.stringify(q.input) });
  for (const id of drafts.keys()) if (drafts.size >= mostDrafts || !entries.value.has(id)) drafts.delete(id);
  drafts.set(q.id, form);
  return form;
}

/** @param {Props} props */
export function Editing(props) {
  const { q, stop } = props;
  const loaded = useLoaded(() => draftOf(q), [q.id]);
  return (
    <section class="arguments" aria-label="Other arguments">
      <p class="bar-of"><strong>Other arguments</strong> <button type="button" class="plain" onClick={() => {
        drafts.delete(q.id);
        stop();
      }}>Discard changes</button></p>
      <Awaited of={loaded} />
      {loaded.value && <Fields {...props} form={loaded.value} />}
    </section>
  );
}

/** @param {Props & {form: Form}} props */
function Fields({ q, tell, errors, form }) {
  const at = useRef(/** @type {HTMLDivElement | null} */ (null));
  const { text, problem: why } = form.outcome.value;
  const was = useMemo(() => parse(JSON.stringify(q.input)).node, [q.id]);
  const changes = useMemo(() => (text === undefined ? [] : differences(was, parse(text).node)), [was, text]);
  useLayoutEffect(() => tell({ open: true, text, why, other: changes.length > 0 }), [text, why, changes]);
  useLayoutEffect(() => /** @type {HTMLElement | null | undefined} */ (at.current?.querySelector('.field input, .field textarea, .field select, .field button'))?.focus(), [form]);
  return (
    <div ref={at}>
      <FormView key={form.id} form={form} errors={errors} />
      <Changes all={changes} />
    </div>
  );
}

/** @param {{all: Difference[]}} props */
function Changes({ all }) {
  if (all.length === 0) return null;
  return (
    <div class="frame" tabIndex={0} role="region" aria-label="What you change">
      <table class="changes">
        <caption>What you change{all.length > mostShown && `: the first ${mostShown} of ${all.length} are shown`}</caption>
        <thead><tr><th scope="col">Where</th><th scope="col">Was</th><th scope="col">Is</th></tr></thead>
        <tbody>
          {all.slice(0, mostShown).map((d) => <tr key={d.pointer}><th scope="row" dir="auto">{visible(d.pointer) || '/'}</th><td dir="auto">{part(d, d.was)}</td><td dir="auto">{part(d, d.is)}</td></tr>)}
        </tbody>
      </table>
    </div>
  );
}

/** @param {Difference} d @param {string | undefined} text */
const part = (d, text) => (text === undefined ? 'nothing' : d.path.some(isSecretName) ? '••••' : visible(text));
