// @ts-check
// Says which inputs the form of a tool takes. It fills a copy of the form, which no script of the page sees, and asks the browser
// to validate that.

import { contains, findAll, formElements, getAttribute } from '../shim/formdom.js';
import { fill } from '../shim/formfill.js';
import { readForm } from '../shim/formschema.js';

/** What controls take whose type says more than the schema does. @type {{[type: string]: string}} */
const typical = {
  email: 'ada@example.com', url: 'https://example.com/', date: '2026-01-31', time: '12:00', month: '2026-01', week: '2026-W05',
  'datetime-local': '2026-01-31T12:00', color: '#aabbcc',
};

/**
 * copy returns a form without a life of its own: what is filled in there, no script of the page sees.
 * @param {HTMLFormElement} form
 */
function copy(form) {
  const inert = document.implementation.createHTMLDocument('');
  const twin = inert.importNode(form, true);
  inert.body.append(twin);
  for (const control of formElements(form)) {
    if (contains(form, control)) continue;
    const own = inert.importNode(control, true);
    own.removeAttribute('form');
    Element.prototype.append.call(twin, own); // the form may have a control of that name
  }
  return twin;
}

/**
 * empty takes the value of a control away.
 * @param {any} control
 */
function empty(control) {
  if (control.type === 'checkbox' || control.type === 'radio') control.checked = false;
  else if (control.type === 'select-one') control.selectedIndex = -1;
  else control.value = '';
}

/**
 * refusal returns why a form does not take an input, or ''.
 * @param {HTMLFormElement} form
 * @param {any} input
 */
function refusal(form, input) {
  const params = readForm(form);
  const given = { ...input };
  for (const key in given) {
    const type = params.get(key)?.type ?? '';
    if (type in typical && typeof given[key] === 'string') given[key] = typical[type];
  }
  try {
    fill(params, given);
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
  for (const control of /** @type {Iterable<any>} */ (formElements(form))) {
    if (control.required && params.has(control.name) && !(control.name in given)) empty(control); // else its preset value is taken
    else if (control.type === 'select-one' && control.value === '') { // the choice that stands for none
      control.selectedIndex = Array.from(control.options).findIndex((option) => option.value !== '' && !option.disabled);
    }
    if (!(control.type in typical) || !control.name || !(control.name in given)) continue;
    if (control.validity.rangeUnderflow || control.validity.stepMismatch) control.value = control.min;
    if (control.validity.rangeOverflow) control.value = control.max;
  }
  const bad = /** @type {any} */ (Array.from(formElements(form)).find((/** @type {any} */ one) => one.willValidate && !one.validity.valid));
  return bad === undefined ? '' : `${bad.name}: ${bad.validationMessage}`;
}

accepts = (name, inputs) => {
  const form = Array.from(findAll(document, 'form')).find((one) => getAttribute(one, 'toolname') === name);
  return form === undefined ? [] : inputs.map((input) => refusal(copy(form), input));
};
