// @ts-check
// The life of a call: it starts here, ends here exactly once, and every end is a reply (replies.js), or for a page's own call a
// string.

import { fill } from './blocks.js';
import { besideAsking, makeContext } from './context.js';
import { describe, domError } from './errors.js';
import { global } from './dom.js';
import { encode, isObject, methodOf } from './encode.js';
import { keepEnd } from './epochs.js';
import { formEnd, isWaiting } from './formrun.js';
import {
  NativeAbortController, NativePromise, addEventListener, apply, asyncIterator, controllerAbort, controllerSignal, jsonParse, jsonStringify,
  mapDelete, mapForEach, mapGet, mapHas, mapSet, own,
} from './natives.js';
import { closed, closeParts, collect } from './parts.js';
import { beginFaults } from './problems.js';
import { find, inFlight } from './registry.js';
import { endText, say, tell } from './replies.js';
import { saves } from './saves.js';
import { ToolActivatedEvent, ToolCancelEvent, announce } from './dialects/events.js';
import { askListeners } from './dialects/toolcall.js';

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
  beginFaults();
  return own(new NativePromise((resolve) => {
    const call = makeCall(callID, inputText, maxBytes, knownRev, resolve, null);
    const tool = find(toolID);
    if (tool === null) return end(call, 'gone', '', 'the tool is not registered any more');
    if (mapHas(inFlight, callID)) return end(call, 'error', 'InvalidStateError', 'the call id is in use');
    start(call, tool);
  }));
}

/**
 * runForPage runs a tool for a page's executeTool, on the same path. Its result becomes the string that Chromium makes of it.
 * @param {Tool} tool
 * @param {string} inputText
 * @param {(text: string | null) => void} resolve null when a form left the document
 * @param {() => void} reject
 * @returns {() => void} aborts the call
 */
export function runForPage(tool, inputText, resolve, reject) {
  const call = makeCall('', inputText, 0, 0, resolve, reject);
  start(call, tool);
  return () => abort(call, 'signal is aborted without reason');
}

// Who waits for a document that goes away would wait forever.
addEventListener(global, 'pagehide', () => mapForEach(inFlight, (/** @type {Call} */ call) => {
  if (call.reject !== null) abort(call, 'The document went away.');
}));

/**
 * @param {string} id
 * @param {string} inputText
 * @param {number} maxBytes
 * @param {number} knownRev
 * @param {(text: any) => void} resolve
 * @param {(() => void) | null} reject
 * @returns {Call}
 */
function makeCall(id, inputText, maxBytes, knownRev, resolve, reject) {
  return {
    id, inputText, maxBytes, knownRev, resolve, reject, controller: null, signal: null, ran: false, done: false, interactions: 0,
    interact: null, name: '', kept: null, parts: null, iterator: null, saves: saves.count, far: saves.far,
  };
}

/**
 * keyOf returns the key of a call while it runs.
 * @param {Call} call
 */
const keyOf = (call) => (call.reject === null ? call.id : call);

/**
 * @param {Call} call
 * @param {Tool} tool
 */
function start(call, tool) {
  try {
    const input = jsonParse(call.inputText);
    call.controller = new NativeAbortController();
    call.signal = controllerSignal(call.controller);
    call.name = tool.name;
    mapSet(inFlight, keyOf(call), call);
    const beside = besideAsking(call);
    if (beside) tell(call, 'enters');
    run(call, tool, input);
    if (beside && call.interact === null) tell(call, 'leaves');
  } catch (error) {
    endWithError(call, error, '');
  }
}

/**
 * abortCall ends a call at once, then tells the tool.
 * @param {string} callID
 * @param {string} reason
 * @returns {any} whether there was such a call; a promise of that while iterators close
 */
export function abortCall(callID, reason) {
  const call = mapGet(inFlight, callID);
  return closed(call !== undefined && abort(call, reason));
}

/**
 * @param {Call} call
 * @param {string} reason
 */
function abort(call, reason) {
  if (call.done) return false;
  const error = domError('AbortError', reason);
  const { interact } = call;
  end(call, isWaiting(call.signal) ? 'awaiting' : 'aborted', '', reason);
  if (interact !== null) interact.reject(error);
  controllerAbort(call.controller, error);
  announce('toolcancel', call.name, ToolCancelEvent);
  return true;
}

/**
 * abortAll ends every call.
 * @param {string} reason
 * @returns {any} how many there were; a promise of that while iterators close
 */
export function abortAll(reason) {
  let count = 0;
  mapForEach(inFlight, (/** @type {Call} */ call) => {
    if (abort(call, reason)) count++;
  });
  return closed(count);
}

/**
 * run asks the listeners of toolcall first, then execute. It never rejects: all its ends are replies.
 * @param {Call} call
 * @param {Tool} tool
 * @param {any} input
 */
async function run(call, tool, input) {
  try {
    call.ran = true;
    let answer = askListeners(call, tool.name);
    if (answer === null && tool.execute === undefined) {
      return end(call, 'unhandled', '', 'no toolcall listener answered, and the tool has no execute function');
    }
    try {
      if (answer === null && !call.done) answer = apply(/** @type {Function} */ (tool.execute), tool.self, [input, makeContext(call)]);
    } finally { // as in Chromium: when the function has begun, and the fields of a form are filled
      announce('toolactivated', tool.name, ToolActivatedEvent);
    }
    if (call.done) return;
    const value = await answer;
    if (call.done) return;
    const form = formEnd(value);
    if (form !== null) return end(call, form.kind, '', form.message);
    if (call.reject !== null) return end(call, 'ok', '', '', resultString(value));
    const parts = isObject(value) ? methodOf(value, asyncIterator) : undefined;
    if (parts !== undefined) return finish(call, await own(collect(call, value, parts)));
    const encoded = encode(value, { max: call.maxBytes, lenient: false, root: 'result' });
    finish(call, encoded.parts === null ? encoded : await own(fill(encoded, call.maxBytes)));
  } catch (error) {
    endWithError(call, error, '');
  }
}

/**
 * @param {Call} call
 * @param {Encoded} encoded
 */
function finish(call, { kind, text, bytes, message, error }) {
  switch (kind) {
    case 'ok': return end(call, 'ok', '', '', text, bytes);
    case 'undefined': return end(call, 'ok', '', '', 'null', 4);
    case 'threw': return endWithError(call, error, `${message}: `);
    default: return end(call, kind, '', message);
  }
}

/**
 * resultString returns the value to which a page's executeTool resolves. A symbol has no string: that throws.
 * @param {any} value
 */
function resultString(value) {
  if (value === '') return 'Operation succeeded';
  return isObject(value) ? `${jsonStringify(value)}` : `${value}`;
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
  const began = mapGet(inFlight, keyOf(call)) === call;
  if (began) mapDelete(inFlight, keyOf(call));
  if (call.reject !== null) {
    if (kind === 'ok') call.resolve?.(payload);
    else if (kind === 'submitted') call.resolve?.(null);
    else call.reject();
    return;
  }
  if (began) keepEnd(call.id, () => endText(call, kind, name, message, payload, bytes));
  say(call, kind, name, message, payload, bytes);
  closeParts(call);
}
