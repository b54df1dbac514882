// @ts-check
// Other arguments for a call that waits: a form for them, and what they change.

import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { ApiError, argumentsSchema } from '../api.js';
import { differences } from '../form/diff.js';
import { FormView } from '../form/field.jsx';
import { parse } from '../form/json.js';
import { Form } from '../form/model.js';
import { isSecretName } from '../form/secret.js';
import { entries } from '../store.js';
import { visible } from '../text.js';
import { told } from '../ui/load.jsx';

/** @typedef {import('../api.js').OpenQuestion} OpenQuestion */
/** @typedef {import('../form/diff.js').Difference} Difference */
/** @typedef {{form: Form | undefined, problem: string, errors: {pointer: string, message: string}[], changes: Difference[], text: string | undefined, why: string | undefined,
 *   begin: () => void, end: () => void, refused: (e: unknown) => void}} Edit text is the arguments as they are on the screen, or why says why there are none */

const mostDrafts = 20;
const mostShown = 200;
/** @type {{pointer: string, message: string}[]} */
const none = [];

/** Forms that somebody began, by question: to look at another one loses nothing. @type {Map<string, Form>} */
const drafts = new Map();

addEventListener('beforeunload', (e) => { if ([...drafts].some(([id, form]) => entries.value.has(id) && form.changed.value)) e.preventDefault(); });

/** @param {OpenQuestion} q @returns {Edit} */
export function useEdit(q) {
  const [form, setForm] = useState(drafts.get(q.id));
  const [problem, setProblem] = useState('');
  const [found, setFound] = useState({ errors: none, of: /** @type {string | undefined} */ ('') }); // of a text: of another one, nothing is said
  const value = JSON.stringify(q.input);
  const { text, problem: why } = form?.outcome.value ?? {};
  const begin = async () => {
    setProblem('');
    try {
      const schema = await argumentsSchema(q.id);
      if (schema === undefined) return;
      const made = new Form({ schema, value });
      for (const id of drafts.keys()) if (drafts.size >= mostDrafts || !entries.value.has(id)) drafts.delete(id);
      drafts.set(q.id, made);
      setForm(made);
    } catch (e) {
      setProblem(told(e));
    }
  };
  const end = () => {
    drafts.delete(q.id);
    setForm(undefined);
  };
  const refused = (/** @type {unknown} */ e) => setFound({ errors: e instanceof ApiError ? e.errors : none, of: text });
  return { form, problem, errors: found.of === text ? found.errors : none, changes: form && text !== undefined ? differences(parse(value).node, parse(text).node) : [], text, why, begin, end, refused };
}

/** @param {{edit: Edit & {form: Form}}} props */
export function Editing({ edit }) {
  const at = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => /** @type {HTMLElement | null} */ (at.current?.querySelector('.field input, .field textarea, .field select, .field button'))?.focus(), [edit.form]);
  return (
    <section class="arguments" aria-label="Other arguments" ref={at}>
      <p class="bar-of"><strong>Other arguments</strong> <button type="button" class="plain" onClick={edit.end}>Discard changes</button></p>
      <FormView key={edit.form.id} form={edit.form} errors={edit.errors} />
      <Changes all={edit.changes} />
    </section>
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
