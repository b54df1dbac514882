// @ts-check
// From the input of a call to the values of a form's controls, with the events and errors of Chromium. Events are not
// trusted, and a box is clicked, because some frameworks listen to nothing else:
// docs/decisions/2026-11-22-forms-and-toolcall-events.md.

import {
  addItem, areaValue, click, collectionLength, hasAttribute, inputChecked, inputValue, optionSelected, optionValue, selectOptions,
  setAreaValue, setInputChecked, setInputFiles, setInputValue, setOptionSelected, transferFiles, transferItems,
} from './formdom.js';
import { isGroup, sample } from './formschema.js';
import {
  NativeDataTransfer, NativeError, NativeEvent, NativeFile, NativeMap, NativeUint8Array, charCodeAt, decodeBase64, dispatchEvent, hasOwn,
  isArray, iterable, mapDelete, mapGet, mapHas, mapSet, mapSize, objectKeys,
} from './natives.js';

/**
 * fill puts the members of the input into the form, one after the other. It throws at the first that does not fit; one that
 * the tool does not have is found before anything is filled.
 * @param {Map<string, Param>} params
 * @param {any} input
 */
export function fill(params, input) {
  const names = objectKeys(input);
  for (let i = 0; i < names.length; i++) {
    if ((mapGet(params, names[i])?.type ?? 'none') === 'none') {
      throw new NativeError(`Input contains a parameter "${names[i]}" but there is no such parameter for the tool`);
    }
  }
  for (let i = 0; i < names.length; i++) fillOne(mapGet(params, names[i]), input[names[i]]);
}

/**
 * @param {Param} param
 * @param {any} value
 */
function fillOne(param, value) {
  const { type } = param;
  const control = param.first.element;
  if (type === 'file') return attach(param, value);
  const list = type === 'multiple' || (type === 'checkbox' && isGroup(param));
  if (list ? !isArray(value) : !isScalar(value)) throw invalid(param, value);
  const text = list ? '' : `${value}`;
  switch (type) {
    case 'multiple': return select(param, value, value);
    case 'select': return select(param, [text], value);
    case 'radio': return check(param, [text], value);
    case 'checkbox':
      if (list) return check(param, value, value);
      if (text !== 'true' && text !== 'false' && text !== '1' && text !== '0') throw invalid(param, value);
      return tick(control, text === 'true' || text === '1');
    case 'textarea': return put(control, text, areaValue, setAreaValue, false);
    case 'hidden': return setInputValue(control, text);
    default:
  }
  if (inputValue(sample(type, text)) === '' && (text === '' ? type === 'number' : type in strict)) throw invalid(param, value);
  put(control, text, inputValue, setInputValue, type === 'range' || type === 'color');
}

/**
 * attach chooses files as a person would; none takes away what was chosen.
 * @param {Param} param
 * @param {any} value
 */
function attach(param, value) {
  const control = param.first.element;
  const several = hasAttribute(control, 'multiple');
  if (several && !isArray(value)) throw invalid(param, value);
  const transfer = new NativeDataTransfer();
  const items = transferItems(transfer);
  if (!several) addItem(items, fileOf(param, value));
  else for (let i = 0; i < value.length; i++) addItem(items, fileOf(param, value[i]));
  setInputFiles(control, transferFiles(transfer));
  tell(control, true, true);
}

/**
 * fileOf makes a file of its name, its type and its bytes in base64.
 * @param {Param} param
 * @param {any} value
 */
function fileOf(param, value) {
  const member = (/** @type {string} */ name) => (typeof value === 'object' && value !== null && hasOwn(value, name) ? value[name] : undefined);
  const name = member('name');
  const type = member('type') ?? '';
  const data = member('data');
  if (typeof name !== 'string' || typeof type !== 'string' || typeof data !== 'string') throw invalid(param, value);
  let binary = '';
  try {
    binary = decodeBase64(data);
  } catch {
    throw invalid(param, value);
  }
  const bytes = new NativeUint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = charCodeAt(binary, i);
  return new NativeFile(iterable([bytes]), name, { __proto__: null, type });
}

/** @param {any} value */
const isScalar = (value) => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

/**
 * @param {Param} param
 * @param {any} value
 */
function invalid(param, value) {
  return new NativeError(`Invalid value ${isScalar(value) ? `"${value}" ` : ''}for parameter ${param.name}`);
}

/** Types that take nothing but what they understand. */
const strict = { __proto__: null, number: 1, date: 1, time: 1, 'datetime-local': 1, month: 1, week: 1 };

/**
 * @param {Element} control
 * @param {string} text
 * @param {(control: any) => string} get
 * @param {(control: any, text: string) => void} set
 * @param {boolean} quiet nothing is said when nothing changed
 */
function put(control, text, get, set, quiet) {
  const before = get(control);
  set(control, text);
  const same = get(control) === before;
  tell(control, !same || !quiet, !same);
}

/**
 * tell dispatches what the user's own input would.
 * @param {Element} control
 * @param {boolean} input
 * @param {boolean} change
 */
function tell(control, input, change) {
  if (input) dispatchEvent(control, new NativeEvent('input', { __proto__: null, bubbles: true, composed: true }));
  if (change) dispatchEvent(control, new NativeEvent('change', { __proto__: null, bubbles: true }));
}

/**
 * tick clicks a box that has to change, and sets it when that does not help.
 * @param {Element} box
 * @param {boolean} on
 */
function tick(box, on) {
  if (inputChecked(box) === on) return tell(box, false, true);
  click(box);
  if (inputChecked(box) === on) return;
  setInputChecked(box, on);
  tell(box, true, true);
}

/**
 * check ticks the boxes of a group, or the one radio button, that have the values.
 * @param {Param} param
 * @param {any[]} values
 * @param {any} given
 */
function check(param, values, given) {
  const left = all(param, values);
  const chosen = new NativeMap();
  for (let c = /** @type {Control | null} */ (param.first); c !== null; c = c.next) {
    if (mapDelete(left, inputValue(c.element))) mapSet(chosen, c.element, true);
  }
  if (mapSize(left) > 0) throw invalid(param, given);
  for (let c = /** @type {Control | null} */ (param.first); c !== null; c = c.next) {
    const on = mapHas(chosen, c.element);
    if (on || param.type === 'checkbox') tick(c.element, on);
  }
}

/**
 * @param {Param} param
 * @param {any[]} values
 * @param {any} given
 */
function select(param, values, given) {
  const control = param.first.element;
  const left = all(param, values);
  const chosen = new NativeMap();
  const options = selectOptions(control);
  for (let i = 0; i < collectionLength(options); i++) {
    if (mapDelete(left, optionValue(options[i]))) mapSet(chosen, options[i], true);
  }
  if (mapSize(left) > 0) throw invalid(param, given);
  let changed = false;
  for (let i = 0; i < collectionLength(options); i++) {
    const on = mapHas(chosen, options[i]);
    if (optionSelected(options[i]) === on) continue;
    changed = true;
    setOptionSelected(options[i], on);
  }
  tell(control, changed, changed);
}

/**
 * all returns the values of a list as a set; each may be given once.
 * @param {Param} param
 * @param {any[]} values
 * @returns {Map<string, boolean>}
 */
function all(param, values) {
  const set = new NativeMap();
  for (let i = 0; i < values.length; i++) {
    if (!isScalar(values[i]) || mapHas(set, `${values[i]}`)) throw invalid(param, values);
    mapSet(set, `${values[i]}`, true);
  }
  return set;
}
