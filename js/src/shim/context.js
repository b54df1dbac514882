// @ts-check
// What execute gets as its second argument: the `agent` of the first generation and the options of the last, in one object.

import { domError, typeError } from './errors.js';
import { NativePromise, apply, own, promiseThen } from './natives.js';

const maxInteractions = 5;

/**
 * makeContext makes the second argument of one call.
 * @param {Call} call
 */
export function makeContext(call) {
  return {
    signal: call.signal,
    /**
     * Runs the callback at once, one at a time and at most five times in a call; its promise is the answer.
     * @param {any} callback
     */
    requestUserInteraction(callback) {
      return new NativePromise((resolve, reject) => interact(call, callback, resolve, reject));
    },
  };
}

/**
 * @param {Call} call
 * @param {any} callback
 * @param {(value: any) => void} resolve
 * @param {(reason: any) => void} reject
 */
function interact(call, callback, resolve, reject) {
  if (typeof callback !== 'function') {
    return reject(typeError("Failed to execute 'requestUserInteraction': parameter 1 is not a function."));
  }
  const refuse = (/** @type {string} */ message) => reject(domError('InvalidStateError', message));
  if (call.done) return refuse('The tool call is over.');
  if (call.interact !== null) return refuse('Another user interaction is in progress.');
  if (call.interactions++ >= maxInteractions) {
    return reject(domError('NotAllowedError', `A tool call may ask at most ${maxInteractions} times.`));
  }
  call.interact = reject;
  const then = (/** @type {(value: any) => void} */ settle) => (/** @type {any} */ value) => {
    if (call.interact === reject) call.interact = null;
    settle(value);
  };
  promiseThen(own(new NativePromise((settle) => settle(apply(callback, undefined, [])))), then(resolve), then(reject));
}
