// @ts-check
// What a call says to the Go half: that it waits for a person, how far its result has come, its end, and to a person's answer whether somebody waits for it.

import { domError } from './errors.js';
import { global, showAlert } from './dom.js';
import { NativePromise, jsonParse, mapDelete, mapGet, mapSet, own, timeout } from './natives.js';
import { asked, currentState, revision } from './registry.js';
import { saves } from './saves.js';
import { replyText } from './wire.js';

/**
 * stopCall says that the call waits for a person. It goes on with awaitCall, and perhaps answerCall. A page's own calls have
 * nobody to ask.
 * @param {Call} call
 * @param {string} what 'interaction' or 'form'
 * @returns {boolean} whether somebody is asked
 */
export function stopCall(call, what) {
  if (call.done || call.reject !== null) return false;
  mapSet(asked, call.id, call);
  say(call, 'asking', what);
  return true;
}

/**
 * awaitCall waits for what a call that stopped says next. The promise is never rejected.
 * @param {string} callID
 * @param {number} knownRev
 * @returns {Promise<string>}
 */
export function awaitCall(callID, knownRev) {
  return own(new NativePromise((resolve) => {
    const call = mapGet(asked, callID);
    if (call === undefined) return resolve(goneText('', 'there is no such call'));
    call.knownRev = knownRev;
    call.resolve = resolve;
    const { kept } = call;
    call.kept = null;
    if (kept !== null) say(call, kept.kind, kept.name, kept.message, kept.payload, kept.bytes);
    else report(call);
  }));
}

/**
 * goneText is the reply of what did not reach a tool.
 * @param {string} name
 * @param {string} message
 */
export const goneText = (name, message) =>
  replyText({ __proto__: null, kind: 'gone', rev: revision(), ran: false, name, message, payload: '', bytes: 0, parts: 0, last: '', saves: 0, far: 0 }, '');

/** How long the parts of a result are not told again, in milliseconds: the newest counts. */
const rest = 50;

/**
 * report tells how far a result has come that arrives in parts, unless it was told just now or a person is asked. The next reply of
 * the call tells what this did not.
 * @param {Call} call
 */
export function report(call) {
  const { parts } = call;
  if (parts === null || parts.count === parts.told || parts.rests || call.done || call.resolve === null || call.interact !== null) return;
  parts.rests = true;
  timeout(() => {
    parts.rests = false;
    report(call);
  }, rest);
  mapSet(asked, call.id, call);
  say(call, 'parts', '');
}

/**
 * remindCall makes a call that still waits say so again: a dialog had taken the place of its question.
 * @param {string} callID
 * @returns {string} whether it waits
 */
export function remindCall(callID) {
  const call = mapGet(asked, callID);
  return `${call !== undefined && call.interact !== null && stopCall(call, 'interaction')}`;
}

/**
 * answerCall passes a person's answer to a call that stopped.
 * @param {string} callID
 * @param {boolean} ok
 * @param {string} valueText JSON, '' for none
 * @returns {string} whether there was such a question
 */
export function answerCall(callID, ok, valueText) {
  const interact = mapGet(asked, callID)?.interact ?? null;
  if (interact === null) return 'false';
  if (ok) interact.accept(valueText === '' ? undefined : jsonParse(valueText));
  else interact.reject(domError('AbortError', 'The user declined.'));
  return 'true';
}

/**
 * tell says at once where a call is, so that the other side knows whose dialog the next one is. Nothing but a dialog leaves a
 * page whose script runs; this one is answered before anybody reads it. A page's own calls ask nobody.
 * @param {Call} call
 * @param {'enters' | 'waits' | 'leaves'} what it runs now, alone; it asks a person, and other calls may run; neither
 */
export function tell(call, what) {
  if (call.done || call.reject !== null) return;
  try {
    showAlert(global, `${call.id} ${what}`);
  } catch {
    // Where there is none, there are no dialogs either.
  }
}

/**
 * say tells the other side, now or when it asks again.
 * @param {Call} call
 * @param {ReplyKind} kind
 * @param {string} name
 * @param {string} [message]
 * @param {string} [payload]
 * @param {number} [bytes]
 */
export function say(call, kind, name, message = '', payload = '', bytes = 0) {
  const { resolve } = call;
  if (resolve === null) {
    call.kept = { __proto__: null, kind, name, message, payload, bytes };
    return;
  }
  call.resolve = null;
  if (kind !== 'asking' && kind !== 'parts') mapDelete(asked, call.id);
  const rev = revision();
  const state = rev > call.knownRev ? currentState() : '';
  let parts = 0;
  let last = '';
  if (call.parts !== null && call.parts.count > call.parts.told) {
    ({ count: parts, last } = call.parts);
    call.parts.told = parts;
  }
  resolve(replyText({ __proto__: null, kind, rev, ran: call.ran, name, message, payload, bytes, parts, last, saves: saves.count - call.saves, far: saves.far - call.far }, state));
}

/**
 * endText is the reply of a call that ended, without the state.
 * @param {Call} call
 * @param {ReplyKind} kind
 * @param {string} name
 * @param {string} message
 * @param {string} payload
 * @param {number} bytes
 */
export const endText = (call, kind, name, message, payload, bytes) =>
  replyText({ __proto__: null, kind, rev: revision(), ran: call.ran, name, message, payload, bytes, parts: 0, last: '', saves: 0, far: 0 }, '');
