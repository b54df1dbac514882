// @ts-check
// What execute gets as its second argument: the `agent` of the first generation and the options of the last, in one object.

import { domError, typeError } from './errors.js';
import { NativePromise, apply, mapForEach, mapSize, own, promiseThen, timeout } from './natives.js';
import { inFlight } from './registry.js';
import { stopCall, tell } from './replies.js';

const maxInteractions = 5;

/** How long an interaction may take, in milliseconds, before it is taken for one that a person has to act in. */
const patience = 100;

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
  const open = begin(call, resolve, reject);
  open.told = true;
  tell(call, 'enters'); // also when it is alone: another call may be on its way, and comes when a dialog is closed
  timeout(() => {
    if (call.interact === open) stopCall(call, 'interaction');
  }, patience);
  const result = own(new NativePromise((settle) => settle(apply(callback, undefined, []))));
  if (mapSize(inFlight) > 1) waits(call, open);
  promiseThen(result, open.accept, open.reject);
}

/**
 * waits tells once that other calls may run while a call asks a person.
 * @param {Call} call
 * @param {Interaction} open
 */
function waits(call, open) {
  if (open.waits) return;
  open.waits = true;
  open.told = true;
  tell(call, 'waits');
}

/**
 * besideAsking tells where the calls are that ask a person, when another one begins.
 * @param {Call} call that begins
 * @returns {boolean} whether there are any
 */
export function besideAsking(call) {
  let asks = false;
  mapForEach(inFlight, (/** @type {Call} */ other) => {
    if (other === call || other.interact === null) return;
    asks = true;
    waits(other, other.interact);
  });
  return asks;
}

/**
 * begin makes an interaction the call's. What settles it first counts: the page, or a person's answer.
 * @param {Call} call
 * @param {(value: any) => void} resolve
 * @param {(reason: any) => void} reject
 * @returns {Interaction}
 */
function begin(call, resolve, reject) {
  const then = (/** @type {(value: any) => void} */ settle) => (/** @type {any} */ value) => {
    if (call.interact === open) {
      call.interact = null;
      if (open.told) tell(call, 'leaves');
    }
    settle(value);
  };
  /** @type {Interaction} */
  const open = { __proto__: null, accept: then(resolve), reject: then(reject), told: false, waits: false };
  call.interact = open;
  return open;
}

/**
 * askToSubmit asks a person whether a form shall be submitted.
 * @param {AbortSignal} signal of the call
 * @param {() => void} accept
 * @param {(reason: any) => void} reject
 * @returns {boolean} whether somebody is asked
 */
export function askToSubmit(signal, accept, reject) {
  let stopped = false;
  mapForEach(inFlight, (/** @type {Call} */ call) => {
    if (call.signal !== signal || call.reject !== null) return;
    begin(call, accept, reject);
    stopped = stopCall(call, 'form');
  });
  return stopped;
}
