// @ts-check
// Errors in both directions: the ones that the page gets from us, with Chromium's texts, and what may be told of the ones
// that the page threw.

import { NativeDOMException, NativeString, NativeTypeError, charCodeAt, isArray, members, objectKeys, slice } from './natives.js';
import { encode, is, isObject } from './encode.js';

const [responseStatus, responseText] = members('Response', 'status', 'statusText');

const maxMessage = 16 * 1024;
/** Of a failure: how deep its causes and parts are told, how many parts, how many members, and how long one may be. */
const most = { depth: 4, parts: 8, members: 16, member: 256 };
/** What is told in its own place, or to nobody. @type {{[name: string]: boolean}} */
const untold = { __proto__: /** @type {any} */ (null), name: true, message: true, stack: true, cause: true, errors: true, suppressed: true };

/** @param {string} message */
export const typeError = (message) => new NativeTypeError(message);

/**
 * @param {string} name
 * @param {string} message
 */
export const domError = (name, message) => new NativeDOMException(message, name);

/**
 * describe turns anything that a page threw into a name and a message, with its causes and parts: never a stack trace, never
 * an exception.
 * @param {any} thrown
 * @returns {{name: string, message: string}}
 */
export function describe(thrown) {
  let name = '';
  try {
    if (isObject(thrown) && typeof thrown.message === 'string' && typeof thrown.name === 'string') ({ name } = thrown);
  } catch {
    // a getter threw
  }
  return { name: cut(name, 128), message: cut(reason(thrown, most.depth), maxMessage) };
}

/**
 * reason returns what a failure says: its message, its plain members, its cause and its parts.
 * @param {any} thrown
 * @param {number} depth
 * @returns {string}
 */
function reason(thrown, depth) {
  let text = 'an error that cannot be read';
  try {
    if (!isObject(thrown)) return NativeString(thrown);
    if (is(responseStatus, thrown)) return `status ${responseStatus(thrown)} ${cut(responseText(thrown), most.member)}`; // as routers do
    if (typeof thrown.message !== 'string') {
      const { kind, text: json } = encode(thrown, { max: maxMessage, lenient: true, root: '' });
      return kind === 'ok' ? json : 'an object that is not an Error';
    }
    text = cut(thrown.message, maxMessage);
    if (text === '' && typeof thrown.name === 'string' && thrown.name !== 'Error') text = cut(thrown.name, most.member);
    text += plainMembers(thrown);
    const { cause, name, error, suppressed } = thrown;
    const errors = name === 'SuppressedError' ? [error, suppressed] : thrown.errors;
    if (cause !== undefined && cause !== null && depth > 0) text += `; cause: ${reason(cause, depth - 1)}`;
    if (isArray(errors) && depth > 0) {
      for (let i = 0; i < errors.length && i < most.parts && text.length < maxMessage; i++) text += `; ${reason(errors[i], depth - 1)}`;
      if (errors.length > most.parts) text += `; and ${errors.length - most.parts} more`;
    }
  } catch {
    // a getter threw: what was read until then counts
  }
  return text;
}

/**
 * plainMembers tells the own members of a failure that are texts, numbers or truth values.
 * @param {any} thrown
 */
function plainMembers(thrown) {
  const keys = objectKeys(thrown);
  let text = '';
  for (let i = 0, told = 0; i < keys.length && told < most.members; i++) {
    const value = untold[keys[i]] ? undefined : thrown[keys[i]];
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') continue;
    text += `${told === 0 ? '' : ', '}${cut(keys[i], most.member)}: ${cut(NativeString(value), most.member)}`;
    told++;
  }
  return text === '' ? '' : ` (${text})`;
}

/**
 * cut shortens text to at most max UTF-16 units, and divides no pair of surrogates.
 * @param {string} text
 * @param {number} max
 * @returns {string}
 */
export function cut(text, max) {
  if (text.length <= max) return text;
  const last = charCodeAt(text, max - 1);
  return slice(text, 0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}
