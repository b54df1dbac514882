// @ts-check
// A call of a form: its fields are filled, then it submits itself (toolautosubmit) or waits for somebody to. What ends it, and
// with which words, is as in Chromium; docs/decisions/2026-11-22-forms-and-toolcall-events.md has what is not.

import { askToSubmit } from './context.js';
import { global } from './dom.js';
import { domError, typeError } from './errors.js';
import {
  attributeOf, classList, collectionLength, eventTarget, find, focus, formElements, getAttribute, hasAttribute, isConnected, matches,
  requestSubmit, targetOf, tokensAdd, tokensRemove, validationMessage,
} from './formdom.js';
import { fill } from './formfill.js';
import { readForm } from './formschema.js';
import {
  NativeError, NativePromise, NativeProxy, NativeWeakMap, addEventListener, apply, defaultPrevented, defineProperty,
  getOwnPropertyDescriptor, members, microtask, own, promiseThen, timeout, weakGet, weakSet,
} from './natives.js';

const [eventSubmitter] = members('SubmitEvent', 'submitter');
const declined = 'The form is filled in, and was not submitted: a person said no.';
const updated = 'Tool execution cancelled, since tool definition was updated';

/** The calls by form, event and signal. @type {WeakMap<object, FormCall>} */
const calls = new NativeWeakMap();

/** What a call of a form resolves to when it ends without a value. @type {WeakMap<object, FormEnd>} */
const ends = new NativeWeakMap();

/** Whether somebody can be at the page, so that waiting for them makes sense. */
let attended = false;

/** attend makes forms without toolautosubmit wait for their submit. */
export function attend() {
  attended = true;
}

/**
 * formEnd tells what a result stands for that is none of the page's: null for every other value.
 * @param {any} value
 * @returns {FormEnd | null}
 */
export const formEnd = (value) => weakGet(ends, value) ?? null;

/**
 * isWaiting tells whether the call with the signal waits for a person.
 * @param {AbortSignal | null} signal
 */
export const isWaiting = (signal) => weakGet(calls, signal)?.waiting ?? false;

/** watchSubmits adds to the submit events of calls what others do not have. */
export function watchSubmits() {
  const extra = {
    get agentInvoked() {
      eventSubmitter(this); // throws for what is not a submit event
      return weakGet(calls, this) !== undefined;
    },
    /** @param {any} response */
    respondWith(response) {
      const prefix = "Failed to execute 'respondWith' on 'SubmitEvent': ";
      eventSubmitter(this);
      if (arguments.length < 1) throw typeError(`${prefix}1 argument required, but only 0 present.`);
      const call = weakGet(calls, this);
      const fault = call === undefined ? 'You can only call respondWith on an submit event that has agentInvoked == true.'
        : call.over ? 'The event is over.' : defaultPrevented(this) ? '' : 'To call respondWith, you must first call preventDefault.';
      if (fault !== '') throw domError('InvalidStateError', prefix + fault);
      call.response = { __proto__: null, value: response };
    },
  };
  for (const name of ['agentInvoked', 'respondWith']) {
    const descriptor = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(extra, name));
    if (global.SubmitEvent) defineProperty(SubmitEvent.prototype, name, { __proto__: null, ...descriptor, enumerable: true });
  }
  watchPlainSubmits();
  listen();
}

/** watchPlainSubmits sees the calls of a form's submit(), which has no event: it looks the same to a page but for its text. */
function watchPlainSubmits() {
  const prototype = /** @type {any} */ (global).HTMLFormElement?.prototype;
  const descriptor = prototype && getOwnPropertyDescriptor(prototype, 'submit');
  if (!descriptor) return;
  const value = new NativeProxy(descriptor.value, {
    __proto__: null,
    apply(native, form, args) {
      apply(native, form, args);
      const call = weakGet(calls, form);
      if (call !== undefined && isConnected(form)) left(call, null); // one that is not goes nowhere
    },
  });
  defineProperty(prototype, 'submit', { __proto__: null, ...descriptor, value });
}

/** listen is said again before each call: document.open takes the listeners of a window away. */
function listen() {
  addEventListener(global, 'submit', onSubmit, true);
  addEventListener(global, 'reset', onReset, true);
}

/**
 * runForm runs a form's tool.
 * @param {Tool} tool
 * @param {any} input
 * @param {AbortSignal} signal
 * @param {() => void} readChanges reads what changed in the document until now
 * @returns {Promise<any>}
 */
export function runForm(tool, input, signal, readChanges) {
  return own(new NativePromise((resolve, reject) => {
    const form = /** @type {Element} */ (tool.form);
    cancelForm(form, 'Tool execution cancelled by another call of the tool');
    listen();
    fill(readForm(form), input);
    readChanges(); // what filling changed is not a reason to cancel
    if (!isConnected(form)) throw domError('AbortError', updated);
    const button = submitButton(form);
    /** @type {FormCall} */
    const call = { __proto__: null, form, button, waiting: false, done: false, over: false, event: null, response: null, resolve, reject };
    const alone = hasAttribute(form, 'toolautosubmit');
    if (!alone && button === null) {
      throw new NativeError('No submit button was found, but for a form without `toolautosubmit`, there must be a submit button');
    }
    begin(call, signal);
    if (alone) return submit(call);
    focus(button);
    call.waiting = attended || askToSubmit(signal, () => submitFor(call), () => finishAs(call, 'unsubmitted', declined));
    if (!call.waiting) finishAs(call, 'awaiting', '');
  }));
}

/**
 * submitButton finds what a person would press.
 * @param {Element} form
 */
function submitButton(form) {
  const list = formElements(form);
  for (let i = 0; i < collectionLength(list); i++) {
    if (matches(list[i], 'button:not([type=button i],[type=reset i]):enabled,input[type=submit i]:enabled')) return list[i];
  }
  return find(form, 'input[type=image i]:enabled'); // not among the elements
}

/**
 * begin makes a call known to the events that end it.
 * @param {FormCall} call
 * @param {AbortSignal} signal
 */
function begin(call, signal) {
  weakSet(calls, call.form, call);
  weakSet(calls, signal, call);
  mark(call, tokensAdd);
  addEventListener(signal, 'abort', () => finish(call), { __proto__: null, once: true });
}

/**
 * mark sets or takes the class names that stand for :tool-form-active and :tool-submit-active.
 * @param {FormCall} call
 * @param {(list: DOMTokenList, name: string) => void} change
 */
function mark(call, change) {
  change(classList(call.form), 'tool-form-active');
  if (call.button !== null) change(classList(call.button), 'tool-submit-active');
}

/**
 * finish ends a call once.
 * @param {FormCall} call
 * @param {any} [error]
 * @param {any} [value]
 */
function finish(call, error, value) {
  if (call.done) return;
  call.done = true;
  call.waiting = false;
  if (weakGet(calls, call.form) === call) weakSet(calls, call.form, undefined);
  mark(call, tokensRemove);
  if (error !== undefined) call.reject(error);
  else call.resolve(value);
}

/**
 * @param {FormCall} call
 * @param {FormEnd['kind']} kind
 * @param {string} message
 */
function finishAs(call, kind, message) {
  const value = { __proto__: null, kind, message };
  weakSet(ends, value, value);
  finish(call, undefined, value);
}

/**
 * cancelForm ends the call of a form, if there is one. From its submit event on, nobody knows what it did.
 * @param {Element} form
 * @param {string} reason
 */
function cancelForm(form, reason) {
  const call = weakGet(calls, form);
  if (call === undefined) return;
  if (call.event === null) finish(call, domError('AbortError', reason));
  else finishAs(call, 'unsure', reason);
}

/**
 * formChanged ends the call of a form that became another tool, unless the form was submitted: then what the page answers counts.
 * @param {Element} form
 */
export function formChanged(form) {
  if (weakGet(calls, form)?.event === null) cancelForm(form, updated);
}

/** @param {Event} event */
function onReset(event) {
  const call = weakGet(calls, eventTarget(event));
  if (call === undefined) return;
  microtask(() => {
    if (!defaultPrevented(event) && call.event === null) finish(call, domError('AbortError', 'Tool execution cancelled by a form reset'));
  });
}

/**
 * submit submits a form; without a submit event it did not pass its own validation, and one that was removed meanwhile goes
 * nowhere.
 * @param {FormCall} call
 */
function submit(call) {
  requestSubmit(call.form, call.button);
  if (call.event === null) finishAs(call, 'unsubmitted', `Form validation failed: ${faults(call.form)}`);
  else if (!defaultPrevented(call.event)) isConnected(call.form) ? answer(call, call.event) : finishAs(call, 'unsure', updated);
}

/**
 * submitFor submits a form for a person who agreed to it.
 * @param {FormCall} call
 */
function submitFor(call) {
  if (call.done) return;
  call.waiting = false;
  try {
    submit(call);
  } catch (error) {
    finish(call, error);
  }
}

/** @param {Element} form */
function faults(form) {
  const list = formElements(form);
  let text = '';
  for (let i = 0; i < collectionLength(list); i++) {
    if (!matches(list[i], ':invalid:not(fieldset)')) continue;
    text += `${getAttribute(list[i], 'name') ?? ''}: ${validationMessage(list[i]) || 'not valid'}. `; // an element of its own keeps its message
  }
  return text;
}

/**
 * onSubmit sees every submit event before the page does (isTrusted cannot be forged). What came of it is known when it is over.
 * @param {Event} event
 */
function onSubmit(event) {
  const call = event.isTrusted ? weakGet(calls, eventTarget(event)) : undefined;
  if (call === undefined || call.event !== null) return;
  call.event = event;
  weakSet(calls, event, call);
  const known = () => answer(call, event);
  timeout(known);
  // A timer can be late for the navigation, which begins with this.
  addEventListener(global, 'beforeunload', known, { __proto__: null, once: true, capture: true });
}

/**
 * @param {FormCall} call
 * @param {Event} event
 */
function answer(call, event) {
  call.waiting = false;
  call.over = true;
  if (call.response !== null) {
    const response = own(new NativePromise((resolve) => resolve(call.response?.value)));
    const done = () => finish(call, undefined, response);
    promiseThen(response, done, done);
  } else if (defaultPrevented(event)) {
    finishAs(call, 'handled', '');
  } else {
    left(call, eventSubmitter(event));
  }
}

/**
 * left ends the call of a form that leads to another document.
 * @param {FormCall} call
 * @param {Element | null} button
 */
function left(call, button) {
  if (attributeOf(call.form, button, 'method') === 'dialog') return finish(call);
  finishAs(call, 'submitted', targetOf(call.form, button));
}
