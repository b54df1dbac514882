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
  if (call.done) return reject(domError('InvalidStateError', 'The tool call is over.'));
  if (call.interactions >= maxInteractions) {
    return reject(domError('NotAllowedError', `A tool call may ask at most ${maxInteractions} times.`));
  }
  if (call.interact !== null) return reject(domError('InvalidStateError', 'Another user interaction is in progress.'));
  call.interactions++;
  const release = () => {
    if (call.interact === reject) call.interact = null;
  };
  call.interact = reject;
  run(callback, resolve, reject, release);
}

/**
 * @param {Function} callback
 * @param {(value: any) => void} resolve
 * @param {(reason: any) => void} reject
 * @param {() => void} release
 */
function run(callback, resolve, reject, release) {
  const answer = own(new NativePromise((settle) => settle(apply(callback, undefined, []))));
  promiseThen(answer, (/** @type {any} */ value) => {
    release();
    resolve(value);
  }, (/** @type {any} */ error) => {
    release();
    reject(error);
  });
}
