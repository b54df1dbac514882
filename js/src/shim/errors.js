// @ts-check
// Errors in both directions: the ones that the page gets from us, with Chromium's texts, and what may be told of the ones
// that the page threw.

import { NativeDOMException, NativeString, NativeTypeError, slice } from './natives.js';
import { encode, isObject } from './encode.js';

const maxMessage = 16 * 1024;

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
  let message = 'an error that cannot be read';
  try {
    const given = isObject(thrown) ? thrown.message : NativeString(thrown);
    if (typeof given === 'string') {
      message = given;
      if (isObject(thrown) && typeof thrown.name === 'string') name = thrown.name;
    } else {
      const { kind, text } = encode(thrown, { max: maxMessage, lenient: true, root: '' });
      message = kind === 'ok' ? text : 'an object that is not an Error';
    }
  } catch {
    // a getter threw
  }
  return { name: cut(name, 128), message: cut(message, maxMessage) };
}

/**
 * cut shortens text to at most max UTF-16 units.
 * @param {string} text
 * @param {number} max
 * @returns {string}
 */
export function cut(text, max) {
  return slice(text, 0, max);
}
