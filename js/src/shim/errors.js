// @ts-check
// Errors in both directions: the ones that the page gets from us, with Chromium's texts, and what may be told of the ones
// that the page threw.

import { NativeDOMException, NativeString, NativeTypeError, slice } from './natives.js';
import { encode, isObject } from './encode.js';

const maxMessage = 16 * 1024;
const maxName = 128;

/** @param {string} message */
export const typeError = (message) => new NativeTypeError(message);

/**
 * @param {string} name
 * @param {string} message
 */
export const domError = (name, message) => new NativeDOMException(message, name);

/**
 * describe turns anything that a page threw into a name and a message: never a stack trace, never an exception.
 * @param {any} thrown
 * @returns {{name: string, message: string}}
 */
export function describe(thrown) {
  let name = '';
  let message = '';
  try {
    if (isObject(thrown)) {
      const read = readError(thrown);
      name = read.name;
      message = read.message;
    } else {
      message = NativeString(thrown);
    }
  } catch {
    message = 'an error that cannot be read';
  }
  return { name: cut(name, maxName), message: cut(message, maxMessage) };
}

/**
 * cut shortens text to at most max UTF-16 units.
 * @param {string} text
 * @param {number} max
 * @returns {string}
 */
export function cut(text, max) {
  return text.length > max ? slice(text, 0, max) : text;
}

/**
 * @param {any} object
 * @returns {{__proto__: null, name: string, message: string}}
 */
function readError(object) {
  const message = object.message;
  const name = object.name;
  if (typeof message === 'string') {
    return { __proto__: null, name: typeof name === 'string' ? name : '', message };
  }
  const text = encode(object, { __proto__: null, max: maxMessage, lenient: true, root: 'error' });
  return { __proto__: null, name: '', message: text.kind === 'ok' ? text.text : 'an object that is not an Error' };
}
