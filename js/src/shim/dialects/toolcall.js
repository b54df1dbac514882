// @ts-check
// The toolcall event of the first generation. The rules, and why: docs/decisions/2026-11-22-forms-and-toolcall-events.md.

import { domError, typeError } from '../errors.js';
import {
  NativeEvent, NativePromise, NativeWeakMap, construct, defaultPrevented, dispatchEvent, jsonParse, own,
  stopImmediatePropagation, weakGet, weakSet,
} from '../natives.js';
import { targets } from './events.js';
import { share } from './modelcontext.js';

/** @type {WeakMap<Event, ToolCall>} */
const pending = new NativeWeakMap();

class ToolCallEvent extends NativeEvent {
  constructor() {
    super('toolcall');
    throw typeError("Failed to construct 'ToolCallEvent': Illegal constructor");
  }

  get name() {
    return of(this).name;
  }

  get input() {
    return of(this).input();
  }

  /** @param {any} value a value, or a promise of it */
  respondWith(value) {
    const call = of(this);
    if (call.respond === null) throw domError('InvalidStateError', call.fault);
    const respond = call.respond;
    call.respond = null;
    call.fault = 'The tool call was answered already.';
    if (call.dispatching) stopImmediatePropagation(this);
    respond(value);
  }
}
share(ToolCallEvent);

/** @param {any} event */
function of(event) {
  const call = weakGet(pending, event);
  if (call === undefined) throw typeError('Illegal invocation');
  return call;
}

/**
 * askListeners dispatches toolcall on window.agent, then on the ModelContext. It returns null when the tool's own execute
 * has to run, else the promise of the answer, which may come late when a listener prevented the default.
 * @param {Call} call
 * @param {string} name
 * @returns {Promise<any> | null}
 */
export function askListeners(call, name) {
  let input = /** @type {any} */ (undefined);
  /** @type {ToolCall} */
  const toolCall = {
    __proto__: null, name, dispatching: true, fault: '', respond: null,
    input: () => (input === undefined ? (input = jsonParse(call.inputText)) : input),
  };
  const answer = own(new NativePromise((resolve) => {
    toolCall.respond = resolve;
  }));
  const event = construct(NativeEvent, ['toolcall', { __proto__: null, cancelable: true }], ToolCallEvent);
  weakSet(pending, event, toolCall);
  dispatchEvent(targets.agent, event);
  if (toolCall.respond !== null) dispatchEvent(targets.context, event);
  toolCall.dispatching = false;
  if (toolCall.respond === null || defaultPrevented(event)) return answer;
  toolCall.respond = null;
  toolCall.fault = 'respondWith() came after the event was dispatched and preventDefault() was not called.';
  return null;
}
