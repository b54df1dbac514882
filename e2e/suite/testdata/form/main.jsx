// The form of the operators' page, alone on a page for its tests.
import { render } from 'preact';
import { signal } from '@preact/signals';

import { FormView } from '../../../../js/src/console/form/field.jsx';
import { Form } from '../../../../js/src/console/form/model.js';
import { isSecretName } from '../../../../js/src/console/form/secret.js';
import { fuzz } from './fuzz.js';

const shown = signal(undefined);
const errors = signal([]);
const violations = [];
document.addEventListener('securitypolicyviolation', (e) => violations.push(e.violatedDirective));

function Page() {
  return shown.value && <FormView key={shown.value.id} form={shown.value} errors={errors.value} />;
}
render(<Page />, document.getElementById('form'));

const painted = () => new Promise((resolve) => setTimeout(resolve)); // Preact draws in a microtask
let keys = 0; // that came up
const waiting = new Set();
document.addEventListener('keyup', () => {
  keys++;
  for (const look of waiting) look();
}, true);
const state = () => {
  const { text, problem } = shown.value.outcome.value;
  const at = document.activeElement;
  return JSON.stringify({
    text, problem, mode: shown.value.mode.value, changed: shown.value.changed.value, fields: document.querySelectorAll('[data-field]').length, options: document.querySelectorAll('option').length,
    violations, body: at === document.body,
    focus: { tag: at.localName, type: at.type ?? '', value: at.value ?? '', index: at.selectedIndex ?? -1, options: at.options?.length ?? 0, name: at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent, readOnly: at.readOnly === true },
  });
};

globalThis.forms = {
  async show(schema, value) {
    errors.value = [];
    shown.value = new Form({ schema, value });
    await painted();
    document.getElementById('before').focus();
    return state();
  },
  async refuse(list) {
    errors.value = list;
    await painted();
    return state();
  },
  async mode(mode) {
    if (mode) shown.value.show(mode);
    await painted();
    return state();
  },
  /** As soon as so many keys came up. */
  async state(pressed) {
    await new Promise((resolve) => {
      const look = () => {
        if (keys < pressed) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
    await painted();
    return state();
  },
  /** What a screen reader is told of every control. */
  controls: () => JSON.stringify([...document.querySelectorAll('#form input, #form textarea, #form select')].map((c) => ({
    tag: c.localName, type: c.type, value: c.value, label: [...c.labels].map((l) => l.textContent).join(), placeholder: c.placeholder ?? '', required: c.getAttribute('aria-required') === 'true',
    about: (c.getAttribute('aria-describedby') ?? '').split(' ').map((id) => document.getElementById(id)?.innerText ?? '').join(' ').trim(),
    invalid: c.getAttribute('aria-invalid') === 'true', options: [...c.options ?? []].slice(0, 20).map((o) => o.text),
  }))),
  press: async (name, index = 0) => {
    const all = [...document.querySelectorAll('#form button')].filter((b) => (b.getAttribute('aria-label') ?? b.textContent) === name);
    all[index].focus();
    all[index].click();
    await painted();
    return state();
  },
  focus: async (label) => {
    [...document.querySelectorAll('#form input, #form textarea, #form select')].find((c) => [...c.labels].some((l) => l.textContent === label)).focus();
    return state();
  },
  words: () => JSON.stringify(document.getElementById('form').innerText),
  fuzz: async (seed, rounds) => JSON.stringify(await fuzz(seed, rounds, (form) => {
    shown.value = form;
    return painted();
  })),
  secret: (names) => JSON.stringify(names.map(isSecretName)),
};
document.body.dataset.ready = 'yes';
