// @ts-check
// What goes wrong in the document, for whoever looks for a tool that is not there: errors that nobody caught, rejections that
// nobody handled, lines of console.error, scripts that did not load or may not run, registrations that were refused. Nothing
// here runs code of the page: no getter, no toString, no trap of a proxy. How much is kept is bounded in registry.js. See
// docs/decisions/2026-11-22-page-errors.md.

import { global, windowOrigin } from './dom.js';
import { isObject } from './encode.js';
import { cut } from './errors.js';
import {
  FunctionPrototype, NativeError, NativeMap, NativeProxy, NativeSet, NativeString, NativeWeakMap, ObjectPrototype, addEventListener, apply,
  defineProperty, exec, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isError, mapGet, mapSet, members, setAdd, setHas, setSize,
  weakGet, weakSet,
} from './natives.js';
import { note, nothing, registrar } from './registry.js';
import { limits, problemText } from './wire.js';

const [errorMessage, errorFile, errorLine] = members('ErrorEvent', 'message', 'filename', 'lineno');
const [eventTarget] = members('Event', 'target');
const [scriptSource] = members('HTMLScriptElement', 'src');
const [violated, blocked, violationFile, violationLine, disposition] = members(
  'SecurityPolicyViolationEvent', 'effectiveDirective', 'blockedURI', 'sourceFile', 'lineNumber', 'disposition');
const [rejectionReason, rejectedPromise] = members('PromiseRejectionEvent', 'reason', 'promise');
const [messageData, messageOrigin, messageSource] = members('MessageEvent', 'data', 'origin', 'source');
const [domName, domMessage] = members('DOMException', 'name', 'message');

/** The names of the language's own errors, by prototype. @type {Map<object | null, string>} */
const names = new NativeMap();
for (const name of ['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']) {
  mapSet(names, /** @type {any} */ (window)[name].prototype, name);
}

/** How the browser tells the stack of an error: a getter on each, or a plain member. */
const stackGetter = getOwnPropertyDescriptor(new NativeError(), 'stack')?.get;

/**
 * The errors with which registrations were refused, and the registrations that the page gave up itself: their rejections say
 * nothing new. @type {WeakMap<object, boolean>}
 */
const told = new NativeWeakMap();

/**
 * What no script of the page caught: whether a call may be the reason, the first since a call began, and what came apart from calls.
 */
const faults = { __proto__: null, called: false, first: '', alone: new NativeSet() };

/** beginFaults begins a call. */
export function beginFaults() {
  faults.called = true;
  faults.first = '';
}

/** fault returns what no script caught since the last call began, '' without such. */
export function fault() {
  faults.called = false;
  return faults.first;
}

/** @param {string} text */
function uncaught(text) {
  if (!faults.called && setSize(faults.alone) < limits.problems) setAdd(faults.alone, text);
  if (faults.called && faults.first === '' && !setHas(faults.alone, text)) faults.first = text;
}

/** watchProblems begins to listen. */
export function watchProblems() {
  listen('error', (event) => {
    const file = errorFile(event);
    problem('error', '', errorMessage(event), file && `${file}:${errorLine(event)}`);
  });
  // An error of loading does not bubble. A script that imports one which is not there has it, too.
  listen('error', (event) => problem('load', '', scriptSource(eventTarget(event)) || 'a script of the page itself', ''), true);
  listen('securitypolicyviolation', (event) => policy(violated(event), blocked(event), violationFile(event), violationLine(event), disposition(event)));
  earlyViolations();
  listen('unhandledrejection', (event) => {
    const reason = rejectionReason(event);
    if (isObject(reason) && weakGet(told, reason) || weakGet(told, rejectedPromise(event))) return;
    problem('rejection', '', textOf(reason), isError?.(reason) ? placeOf(reason) : '');
  });
  listen('message', (event) => {
    if (!event.isTrusted || messageSource(event) !== global || messageOrigin(event) !== windowOrigin(global)) return;
    const data = messageData(event);
    const has = (/** @type {string} */ name, /** @type {string} */ value) => getOwnPropertyDescriptor(data, name)?.value === value;
    if (!has('payload', 'mcp-server-ready') || !has('type', 'mcp') || !has('direction', 'server-to-client')) return;
    problem('server', '', NativeString(getOwnPropertyDescriptor(data, 'channel')?.value), '');
  });
  const { console } = /** @type {any} */ (global);
  const native = console?.error;
  if (typeof native !== 'function') return;
  const value = new NativeProxy(native, {
    __proto__: null,
    apply(/** @type {any} */ target, /** @type {any} */ self, /** @type {any[]} */ args) {
      let text = '';
      for (let i = 0; i < args.length && text.length < limits.problem; i++) text += (i > 0 ? ' ' : '') + textOf(args[i]);
      problem('console', '', text, placeOf(new NativeError()));
      return apply(target, self, args);
    },
  });
  defineProperty(console, 'error', { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

/**
 * @param {string} type
 * @param {(event: any) => void} take
 * @param {boolean} [capture]
 */
function listen(type, take, capture = false) {
  addEventListener(global, type, (/** @type {any} */ event) => {
    try {
      take(event);
    } catch {
      // an event that a page made itself, or of an element that is not looked at
    }
  }, capture);
}

/**
 * refusing returns what run returns. What run throws says why a tool is not registered.
 * @template T
 * @param {any} tool as the page gave it
 * @param {() => T} run
 * @returns {T}
 */
export function refusing(tool, run) {
  try {
    return run();
  } catch (error) {
    refuse(tool, error, placeOf(new NativeError()));
    throw error;
  }
}

/**
 * gaveUp knows that a page took a registration back before it was settled, as React's StrictMode does.
 * @param {any} reason
 * @param {Promise<any>} [promise] of the registration
 */
export function gaveUp(reason, promise) {
  if (isObject(reason)) weakSet(told, reason, true);
  if (promise !== undefined) weakSet(told, promise, true);
}

/**
 * refuse notes that a tool is not registered.
 * @param {any} tool
 * @param {any} error
 * @param {string} at
 */
export function refuse(tool, error, at) {
  const name = isObject(tool) ? getOwnPropertyDescriptor(tool, 'name')?.value : '';
  if (isObject(error)) weakSet(told, error, true);
  const { adapter, quiet } = registrar;
  const known = typeof name === 'string' ? name : '';
  const holder = adapter === 0 ? '' : registrar.explain(known);
  if (!quiet || holder === '') problem('registration', known, textOf(error) + holder, at, adapter);
}

/**
 * failed notes what the code of an adapter threw, unless that was said already.
 * @param {number} adapter
 * @param {any} reason
 */
export function failed(adapter, reason) {
  if (isObject(reason) && weakGet(told, reason)) return;
  problem('adapter', '', textOf(reason), isError?.(reason) ? placeOf(reason) : '', adapter);
}

/**
 * earlyViolations notes what the policy refused before any script ran, which is when the browser starts this one. Nobody has
 * replaced anything then.
 */
function earlyViolations() {
  if (typeof ReportingObserver !== 'function') return;
  const observer = new ReportingObserver(nothing, { types: ['csp-violation'], buffered: true });
  observer.observe();
  for (const { body } of /** @type {any[]} */ (observer.takeRecords())) {
    policy(body.effectiveDirective, body.blockedURL, body.sourceFile, body.lineNumber, body.disposition);
  }
  observer.disconnect();
}

/**
 * policy notes a script that the document's own Content-Security-Policy keeps from running.
 * @param {string} directive
 * @param {string} what
 * @param {string | null} file
 * @param {number} line
 * @param {string} mode
 */
function policy(directive, what, file, line, mode) {
  if (mode === 'enforce' && exec(/^script-src/, directive)) problem('policy', '', `${directive} does not allow ${what}`, file ? `${file}:${line}` : '');
}

/**
 * problem notes that something went wrong, with the name of a tool where it is about one.
 * @param {string} kind
 * @param {string} name
 * @param {string} message
 * @param {string} at
 * @param {number} [adapter]
 */
export function problem(kind, name, message, at, adapter = 0) {
  if (kind === 'error' || kind === 'rejection') uncaught(cut(message, limits.problem));
  note(problemText(kind, cut(name, limits.name), cut(message, limits.problem), cut(at, limits.place), adapter));
}

/**
 * textOf says what a value is, as far as that can be known without running code of the page.
 * @param {any} value
 * @returns {string}
 */
function textOf(value) {
  if (typeof value === 'string') return value;
  if (typeof value === 'symbol') return 'a symbol';
  if (!isObject(value)) return NativeString(value);
  if (!isError?.(value)) return `a${typeof value === 'function' ? ' function' : 'n object'}`;
  try {
    return `${domName(value)}: ${domMessage(value)}`;
  } catch {
    // not a DOMException
  }
  const message = getOwnPropertyDescriptor(value, 'message')?.value;
  const name = mapGet(names, getPrototypeOf(value)) ?? 'Error';
  return typeof message === 'string' && message !== '' ? `${name}: ${message}` : name;
}

/**
 * placeOf returns the first line of a script of the page in an error's stack, '' when the browser does not tell it.
 * @param {any} error
 * @returns {string}
 */
function placeOf(error) {
  const own = getOwnPropertyDescriptor(error, 'stack');
  if (own === undefined || own.get !== stackGetter || isHooked()) return '';
  const stack = own.get === undefined ? own.value : apply(own.get, error, []);
  return (typeof stack === 'string' && exec(/(?:https?|blob|adapter):[^\s()]+:\d+(?=:\d+\)?$)/m, stack)?.[0]) || '';
}

/** isHooked tells whether the page formats stacks itself: its code would run. */
function isHooked() {
  const hook = 'prepareStackTrace';
  return getPrototypeOf(NativeError) !== FunctionPrototype || getPrototypeOf(FunctionPrototype) !== ObjectPrototype ||
    hasOwn(NativeError, hook) || hasOwn(FunctionPrototype, hook) || hasOwn(ObjectPrototype, hook);
}
