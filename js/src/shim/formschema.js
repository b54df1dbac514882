// @ts-check
// From a form to the parameters of its tool and their JSON Schema, as Chromium 156 derives them; files are
// ours: docs/decisions/2026-11-27-files.md. Not derived are controls that
// are disabled or read-only, and names that controls share, unless all of them are checkboxes, or radio buttons.

import {
  collectionLength, contains, controlLabels, createElement, firstChild, formElements, getAttribute, hasAttribute, inputNumber, inputType,
  localName, matches, nextSibling, nodesLength, nodeType, nodeValue, optionValue, parentElement, selectOptions, setInputType,
  setInputValue, textContent, inputValue, closest,
} from './formdom.js';
import { NativeMap, NativeRegExp, charCodeAt, jsonStringify, mapForEach, mapGet, mapSet, slice } from './natives.js';

const texts = { __proto__: null, text: 1, search: 1, tel: 1, url: 1, email: 1, password: 1 };
const clock = '([01][0-9]|2[0-3]):[0-5][0-9]';
const month = '[0-9]{4}-(0[1-9]|1[0-2])';
/** What the format of a type is; a type that has one ends with the time when it says so. */
const formats = {
  __proto__: null, date: 'date', time: `^${clock}`, 'datetime-local': `^${month}-[0-9]{2}T${clock}`, month: `^${month}$`,
  week: '^[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])$', color: '^#[0-9a-zA-Z]{6}$',
};
/** How a caller gives a file; the bridge checks its size and the encoding. */
const file = '"type":"object","properties":{"name":{"type":"string","description":"The name of the file, without folders.","minLength":1,'
  + '"maxLength":255},"type":{"type":"string","description":"Its MIME type, such as image/png.","maxLength":127},'
  + '"data":{"type":"string","contentEncoding":"base64"}},"required":["name","data"]';
const ignored = { __proto__: null, submit: 1, reset: 1, button: 1, image: 1 };
const labelable = 'button,input:not([type=hidden i]),meter,output,progress,select,textarea';
/** What a field is for that holds a secret, whatever its type, such as a password that is shown. */
const secret = '[autocomplete*=-password i],[autocomplete*=one-time-code i],[autocomplete*=cc-number i],[autocomplete*=cc-csc i],'
  + '[autocomplete*=cc-exp i]';
const dates = "Dates MUST be provided in 'YYYY-MM-DD' format.";

/**
 * readForm returns the parameters of a form by name, in the order of the first control of each.
 * @param {Element} form
 * @returns {Map<string, Param>}
 */
export function readForm(form) {
  const params = new NativeMap();
  const list = formElements(form);
  for (let i = 0; i < collectionLength(list); i++) {
    const name = strip(getAttribute(list[i], 'name') ?? '');
    const type = matches(list[i], ':disabled') ? '' : typeOf(list[i]);
    if (type === '') continue;
    /** @type {Control} */
    const control = { __proto__: null, element: list[i], next: null };
    const param = mapGet(params, name);
    if (param === undefined) mapSet(params, name, { __proto__: null, form, name, type, first: control, last: control });
    else {
      if (param.type !== type || (type !== 'checkbox' && type !== 'radio')) param.type = 'none';
      param.last = param.last.next = control;
    }
  }
  return params;
}

/**
 * typeOf is the type of an input, or select, multiple, textarea; none for what takes a name and is not a parameter; '' for what
 * does not count.
 * @param {Element} element
 */
function typeOf(element) {
  const name = localName(element);
  switch (name) {
    case 'select': return hasAttribute(element, 'multiple') ? 'multiple' : name;
    case 'textarea': return hasAttribute(element, 'readonly') ? '' : name;
    case 'object': return '';
    case 'input': break;
    default: return 'none';
  }
  const type = inputType(element);
  if (type in ignored || (type === 'hidden' && !getAttribute(element, 'toolparamdescription'))) return 'none';
  const fixed = type in texts || (type in formats && type !== 'color') || type === 'number';
  return fixed && hasAttribute(element, 'readonly') ? '' : type;
}

/**
 * isGroup tells whether a parameter is several checkboxes, or radio buttons.
 * @param {Param} param
 */
export const isGroup = (param) => param.type === 'radio' || (param.type === 'checkbox' && param.first.next !== null);

/**
 * schemaOf writes the schema of a form's input.
 * @param {Map<string, Param>} params
 */
export function schemaOf(params) {
  let properties = '';
  let required = '';
  mapForEach(params, (/** @type {Param} */ param) => {
    if (param.type === 'none') return;
    const name = jsonStringify(param.name);
    properties += `${properties === '' ? '' : ','}${name}:{${property(param)}}`;
    for (let c = /** @type {Control | null} */ (param.first); c !== null; c = c.next) {
      if (!hasAttribute(c.element, 'required')) continue;
      required += (required === '' ? '' : ',') + name;
      break;
    }
  });
  return `{"type":"object","properties":{${properties}},"required":[${required}]}`;
}

/** @param {string} items */
const several = (items) => `"type":"array","items":{${items}},"uniqueItems":true`;

/** @param {Param} param */
function property(param) {
  const { type } = param;
  const control = param.first.element;
  let description = isGroup(param) && param.first.next !== null ? groupDescription(param) : describe(control);
  if (type === 'date') description = description === '' ? dates : `${description} (${dates})`;
  const accept = type === 'file' ? strip(getAttribute(control, 'accept') ?? '') : '';
  if (accept !== '') description += `${description === '' ? '' : ' '}(Accepted: ${accept})`;
  const marked = type !== 'password' && matches(control, secret) ? ',"writeOnly":true' : '';
  const ending = marked + (description === '' ? '' : `,"description":${jsonStringify(description)}`);
  switch (type) {
    case 'number': case 'range': return `"type":"number"${numbers(control, type)}${ending}`;
    case 'select': return choices(options(control)) + ending;
    case 'multiple': return several(choices(options(control))) + ending;
    case 'radio': return choices(buttons(param)) + ending;
    case 'checkbox': return (isGroup(param) ? several(choices(buttons(param))) : '"type":"boolean"') + ending;
    case 'file': {
      const one = file + (accept === '' ? '' : `,"x-accept":${jsonStringify(accept)}`);
      return (hasAttribute(control, 'multiple') ? `"type":"array","items":{${one}},"maxItems":8` : one) + ending;
    }
    case 'password': return `"type":"string","format":"password","writeOnly":true${pattern(control)}${ending}`;
    default: return `"type":"string"${type in formats ? format(control, type) : pattern(control)}${ending}`;
  }
}

/**
 * describe returns what an author says of a control.
 * @param {Element} control
 */
function describe(control) {
  return getAttribute(control, 'toolparamdescription') || labelText(control) || (getAttribute(control, 'aria-description') ?? '');
}

/**
 * groupDescription returns the description of the innermost fieldset that holds the whole group.
 * @param {Param} param
 */
function groupDescription(param) {
  let fieldset = closest(param.first.element, 'fieldset');
  while (fieldset !== null && !holdsAll(fieldset, param.first)) {
    const above = parentElement(fieldset);
    fieldset = above === null ? null : closest(above, 'fieldset');
  }
  return fieldset === null || !contains(param.form, fieldset) ? '' : (getAttribute(fieldset, 'toolparamdescription') ?? '');
}

/**
 * @param {Element} fieldset
 * @param {Control | null} control
 */
function holdsAll(fieldset, control) {
  for (let c = control; c !== null; c = c.next) {
    if (!contains(fieldset, c.element)) return false;
  }
  return true;
}

/**
 * strip takes what Chromium calls white space from both ends: not all that JavaScript does.
 * @param {string} text
 */
function strip(text) {
  let start = 0;
  let end = text.length;
  const blank = (/** @type {number} */ at) => {
    const c = charCodeAt(text, at); // NaN outside
    return c === 0x20 || (c > 8 && c < 14) || (c >= 0x2000 && c <= 0x200a) || c === 0x1680 || c === 0x2028 || c === 0x205f || c === 0x3000;
  };
  while (blank(end - 1)) end--;
  while (start < end && blank(start)) start++;
  return slice(text, start, end);
}

/** @param {Element} control */
function labelText(control) {
  const labels = localName(control) === 'input' && inputType(control) === 'hidden' ? null : controlLabels(control);
  let text = '';
  for (let i = 0; labels !== null && i < nodesLength(labels); i++) {
    const one = strip(ownText(labels[i], 0));
    if (one !== '') text += text === '' ? one : `; ${one}`;
  }
  return text;
}

/**
 * ownText is the text of a node without the controls in it.
 * @param {any} node
 * @param {number} depth
 * @returns {string}
 */
function ownText(node, depth) {
  let text = '';
  for (let child = firstChild(node); child !== null; child = nextSibling(child)) {
    const type = nodeType(child);
    if (type === 3) text += nodeValue(child);
    else if (type === 1 && depth < 100 && !matches(child, labelable)) text += ownText(child, depth + 1);
  }
  return text;
}

/**
 * choices writes a schema of the given choices, with the constants apart. Of none, JSON Schema has no such list.
 * @param {{any: string, all: string}} list
 */
const choices = ({ any, all }) => `"type":"string"${all === '' ? '' : `,"anyOf":[${any}],"enum":[${all}]`}`;

/**
 * @param {{__proto__: null, any: string, all: string}} list
 * @param {string} value
 * @param {string | null} title
 */
function choose(list, value, title) {
  const comma = list.all === '' ? '' : ',';
  const text = jsonStringify(value);
  list.any += `${comma}{"type":"string","const":${text}${title === null ? '' : `,"title":${jsonStringify(title)}`}}`;
  list.all += comma + text;
}

/** @param {Element} select */
function options(select) {
  const list = { __proto__: null, any: '', all: '' };
  const all = selectOptions(select);
  for (let i = 0; i < collectionLength(all); i++) choose(list, optionValue(all[i]), textContent(all[i]));
  return list;
}

/** @param {Param} param */
function buttons(param) {
  const list = { __proto__: null, any: '', all: '' };
  for (let c = /** @type {Control | null} */ (param.first); c !== null; c = c.next) {
    choose(list, inputValue(c.element), labelText(c.element) || null);
  }
  return list;
}

/**
 * sample is an input of the type with the value: what the browser makes of it.
 * @param {string} type
 * @param {string} value
 */
export function sample(type, value) {
  const input = createElement(document, 'input');
  setInputType(input, type);
  setInputValue(input, value);
  return input;
}

/**
 * number reads an attribute as HTML reads numbers; NaN is none.
 * @param {Element} control
 * @param {string} name
 */
const number = (control, name) => inputNumber(sample('number', getAttribute(control, name) ?? ''));

/**
 * @param {Element} control
 * @param {string} type
 */
function numbers(control, type) {
  let min = number(control, 'min');
  let max = number(control, 'max');
  const base = min === min ? min : number(control, 'value');
  if (type === 'range') {
    min = min === min ? min : 0;
    max = max === max ? max : 100;
    if (max < min) max = min;
  }
  let text = (min === min ? `,"minimum":${min}` : '') + (max === max ? `,"maximum":${max}` : '');
  const step = stepOf(control, type === 'range' ? 1 : 0, 1);
  if (step > 0 && (base !== base || isMultiple(base, step))) text += `,"multipleOf":${step}`;
  return text;
}

/**
 * stepOf is the step of a control, `any` for "any", or else usual.
 * @param {Element} control
 * @param {number} any
 * @param {number} usual
 */
function stepOf(control, any, usual) {
  if (matches(control, '[step=any i]')) return any;
  const step = number(control, 'step');
  return step > 0 ? step : usual;
}

/**
 * isMultiple allows for what binary fractions cannot say: 0.3 is three times 0.1.
 * @param {number} value
 * @param {number} step
 */
function isMultiple(value, step) {
  const quotient = value / step;
  const whole = quotient - (quotient % 1);
  const slack = value < 0 ? value * -1e-15 : value * 1e-15;
  const near = (at) => value - at * step <= slack && at * step - value <= slack;
  return near(whole) || near(whole + 1) || near(whole - 1);
}

/**
 * @param {Element} control
 * @param {string} type
 */
function format(control, type) {
  let text = /** @type {any} */ (formats)[type];
  if (type === 'time' || type === 'datetime-local') {
    const step = stepOf(control, 60, 60);
    text += step >= 60 ? '$' : step >= 1 ? '(:[0-5][0-9])?$' : '(:[0-5][0-9](\\.[0-9]{1,3})?)?$';
  }
  return `,"format":${jsonStringify(text)}`;
}

/** @param {Element} control */
function pattern(control) {
  const text = localName(control) === 'input' && inputType(control) !== 'hidden' ? getAttribute(control, 'pattern') : null;
  if (text === null) return '';
  try {
    // HTML has it with the flag v, JSON Schema with u.
    return new NativeRegExp(text, 'v') && new NativeRegExp(text, 'u') && `,"pattern":${jsonStringify(text)}`;
  } catch {
    return '';
  }
}
