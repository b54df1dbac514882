// @ts-check
// The life of a call: it starts here, ends here exactly once, and every end is a reply text.

import { makeContext } from './context.js';
import { describe, domError } from './errors.js';
import { encode } from './encode.js';
import {
  NativeAbortController, NativePromise, apply, controllerAbort, controllerSignal, jsonParse, mapDelete, mapForEach, mapGet, mapHas,
  mapSet, own,
} from './natives.js';
import { currentState, find, inFlight, revision } from './registry.js';
import { askListeners } from './dialects/toolcall.js';
import { replyText } from './wire.js';

/**
 * startCall runs a tool. The promise is never rejected.
 * @param {string} callID
 * @param {number} toolID
 * @param {string} inputText
 * @param {number} maxBytes of the result's JSON text, in UTF-8
 * @param {number} knownRev
 * @returns {Promise<string>}
 */
export function startCall(callID, toolID, inputText, maxBytes, knownRev) {
  return own(new NativePromise((resolve) => {
    /** @type {Call} */
    const call = {
      __proto__: null, id: callID, inputText, maxBytes, knownRev, resolve, controller: null, signal: null, ran: false, done: false,
      interactions: 0, interact: null,
    };
    const tool = find(toolID);
    if (tool === null) return end(call, 'gone', '', 'the tool is not registered any more');
    if (mapHas(inFlight, callID)) return end(call, 'error', 'InvalidStateError', 'the call id is in use');
    try {
      const input = jsonParse(inputText);
      call.controller = new NativeAbortController();
      call.signal = controllerSignal(call.controller);
      mapSet(inFlight, callID, call);
      run(call, tool, input);
    } catch (error) {
      endWithError(call, error, '');
    }
  }));
}

/**
 * abortCall ends a call at once, then tells the tool.
 * @param {string} callID
 * @param {string} reason
 * @returns {boolean} whether there was such a call
 */
export function abortCall(callID, reason) {
  const call = mapGet(inFlight, callID);
  if (call === undefined) return false;
  const error = domError('AbortError', reason);
  const reject = call.interact;
  end(call, 'aborted', '', reason);
  if (reject !== null) reject(error);
  controllerAbort(call.controller, error);
  return true;
}

/**
 * abortAll ends every call.
 * @param {string} reason
 * @returns {number} how many there were
 */
export function abortAll(reason) {
  let count = 0;
  mapForEach(inFlight, (/** @type {Call} */ call) => {
    if (abortCall(call.id, reason)) count++;
  });
  return count;
}

/**
 * run gives the listeners of toolcall the first word, then execute. It never rejects: all its ends are replies.
 * @param {Call} call
 * @param {Tool} tool
 * @param {any} input
 */
async function run(call, tool, input) {
  try {
    call.ran = true;
    const answer = askListeners(call, tool.name);
    if (answer === null && tool.execute === undefined) {
      return end(call, 'unhandled', '', 'no toolcall listener answered, and the tool has no execute function');
    }
    if (answer !== null) return finish(call, await answer);
    if (call.done) return;
    finish(call, await apply(/** @type {Function} */ (tool.execute), undefined, [input, makeContext(call)]));
  } catch (error) {
    endWithError(call, error, '');
  }
}

/**
 * @param {Call} call
 * @param {any} value
 */
function finish(call, value) {
  if (call.done) return;
  const encoded = encode(value === undefined ? null : value, { __proto__: null, max: call.maxBytes, lenient: false, root: 'result' });
  switch (encoded.kind) {
    case 'ok': return end(call, 'ok', '', '', encoded.text, encoded.bytes);
    case 'undefined': return end(call, 'ok', '', '', 'null', 4);
    case 'threw': return endWithError(call, encoded.error, `${encoded.message}: `);
    default: return end(call, encoded.kind, '', encoded.message);
  }
}

/**
 * @param {Call} call
 * @param {any} error
 * @param {string} prefix
 */
function endWithError(call, error, prefix) {
  const { name, message } = describe(error);
  end(call, 'error', name, prefix + message);
}

/**
 * @param {Call} call
 * @param {ReplyKind} kind
 * @param {string} name
 * @param {string} [message]
 * @param {string} [payload]
 * @param {number} [bytes]
 */
function end(call, kind, name, message = '', payload = '', bytes = 0) {
  if (call.done) return;
  call.done = true;
  if (mapGet(inFlight, call.id) === call) mapDelete(inFlight, call.id);
  const rev = revision();
  const state = rev > call.knownRev ? currentState() : '';
  call.resolve(replyText({ __proto__: null, kind, rev, ran: call.ran, name, message, payload, bytes }, state));
}
