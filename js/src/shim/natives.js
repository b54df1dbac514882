// @ts-check
// The language as it was before any script of the page ran. Everything in the shim that could reach page code by name (a
// method, an iterator, a species, a setter on a prototype) goes through here instead.
//
// Rules for the other modules: records are `{__proto__: null, ...}` literals, or objects whose members are all given in the
// literal; lists are Maps and linked records, never arrays that grow; no for-of, no spread, no destructuring of arrays, no
// method called on a value that is not one of ours; `await` only on promises that went through `own`.

/**
 * uncurry(f)(self, ...args) is f.call(self, ...args), without looking at anything that the page can change.
 * @type {(fn: Function | undefined) => (self: any, ...args: any[]) => any}
 */
export const uncurry = Function.prototype.bind.bind(Function.prototype.call);

export const {
  apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys,
} = Reflect;

/**
 * members captures methods and getters of an interface as functions of its objects. It runs while the shim starts: only then
 * can arrays be taken apart. What the browser does not have throws when it is used.
 * @param {string | object} type its name, or the object that has the members itself
 * @param {...PropertyKey} names
 * @returns {((self: any, ...args: any[]) => any)[]}
 */
export function members(type, ...names) {
  const holder = typeof type === 'string' ? /** @type {any} */ (window)[type]?.prototype : type;
  return names.map((name) => {
    const member = holder && getOwnPropertyDescriptor(holder, name);
    return uncurry(member?.get ?? member?.value);
  });
}

export const { create, freeze, hasOwn, keys: objectKeys } = Object;
export const NativeProxy = Proxy;
export const ObjectPrototype = Object.prototype;
export const ArrayPrototype = Array.prototype;
export const FunctionPrototype = Function.prototype;
export const { isArray } = Array;
export const { isView } = ArrayBuffer;
export const { parse: jsonParse, stringify: jsonStringify, isRawJSON } = /** @type {any} */ (JSON);
/** Unlike test and match, exec calls no method that a page could have replaced. */
export const [exec] = members('RegExp', 'exec');
export const [objectToString] = members('Object', 'toString');

export const NativeMap = Map;
export const [mapGet, mapSet, mapHas, mapDelete, mapForEach, mapSize] = members('Map', 'get', 'set', 'has', 'delete', 'forEach', 'size');
export const NativeSet = Set;
export const [setAdd, setHas, setDelete, setForEach, setSize] = members('Set', 'add', 'has', 'delete', 'forEach', 'size');
export const NativeWeakMap = WeakMap;
export const [weakGet, weakSet] = members('WeakMap', 'get', 'set');

export const [charCodeAt, slice, toWellFormed, stringValueOf] = members('String', 'charCodeAt', 'slice', 'toWellFormed', 'valueOf');
export const [numberValueOf] = members('Number', 'valueOf');
export const [booleanValueOf] = members('Boolean', 'valueOf');
export const [bigintValueOf] = members('BigInt', 'valueOf');
export const NativeString = String;
export const NativeRegExp = RegExp;
export const { random } = Math;
export const [sort] = members('Array', 'sort');

export const NativeUint8Array = Uint8Array;
export const textEncoder = new TextEncoder();
export const [encodeText] = members('TextEncoder', 'encode');
export const NativeFile = /** @type {any} */ (window).File;
export const NativeDataTransfer = /** @type {any} */ (window).DataTransfer;
export const decodeBase64 = /** @type {any} */ (window).atob;
export const { asyncIterator, iterator, toStringTag } = Symbol;
/** The first is the name of a typed array's class, undefined for everything else; it never throws. */
export const [typedArrayName, typedArrayLength] = members(/** @type {object} */ (getPrototypeOf(Uint8Array.prototype)), toStringTag, 'length');
export const [bufferLength] = members('ArrayBuffer', 'byteLength');

export const NativeTypeError = TypeError;
export const NativeError = Error;
/** Unlike instanceof, it asks no proxy; older browsers do not have it. */
export const { isError } = /** @type {any} */ (Error);
export const NativeDOMException = DOMException;
export const NativeEventTarget = EventTarget;
export const NativeEvent = Event;
export const [addEventListener, removeEventListener, dispatchEvent] =
  members('EventTarget', 'addEventListener', 'removeEventListener', 'dispatchEvent');
export const [stopImmediatePropagation, defaultPrevented] = members('Event', 'stopImmediatePropagation', 'defaultPrevented');

export const NativeAbortController = AbortController;
export const [controllerSignal, controllerAbort] = members('AbortController', 'signal', 'abort');
export const [signalAborted, signalReason] = members('AbortSignal', 'aborted', 'reason');

export const NativePromise = Promise;
export const [promiseThen] = members('Promise', 'then');
const plainThen = Promise.prototype.then;

/**
 * own sets on a native promise of ours its own `constructor` and `then`, so that neither `then`, `await` nor the browser's
 * awaitPromise looks at what the page may have changed. No constructor means the built-in one, without asking for its species.
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
export function own(promise) {
  defineProperty(promise, 'constructor', { __proto__: null, value: undefined });
  defineProperty(promise, 'then', { __proto__: null, value: plainThen });
  return promise;
}

const settled = own(new NativePromise((resolve) => resolve(undefined)));

export const timeout = setTimeout;

/**
 * microtask runs fn when the running script has returned.
 * @param {() => void} fn
 */
export function microtask(fn) {
  promiseThen(settled, fn);
}

/**
 * iterable makes a list one that the browser reads whatever the page did to Array.prototype.
 * @param {any[]} list
 * @returns {any[]}
 */
export function iterable(list) {
  const values = () => {
    let i = 0;
    return { __proto__: null, next: () => ({ __proto__: null, done: i >= list.length, value: list[i++] }) };
  };
  defineProperty(list, iterator, { __proto__: null, value: values });
  return list;
}

/**
 * append does what push would, whatever a page has made of Array.prototype.
 * @param {any[]} list
 * @param {any} value
 */
export function append(list, value) {
  defineProperty(list, list.length, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}
