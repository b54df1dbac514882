// @ts-check
// The language as it was before any script of the page ran. Everything in the shim that could reach page code by name (a
// method, an iterator, a species, a setter on a prototype) goes through here instead.
//
// Rules for the other modules: records are `{__proto__: null, ...}` literals, or objects whose members are all given in the
// literal; lists are Maps and linked records, never arrays that grow; no for-of, no spread, no destructuring of arrays, no
// method called on a value that is not one of ours; `await` only on promises that went through `own`.

const { bind, call } = Function.prototype;

/**
 * uncurry(f)(self, ...args) is f.call(self, ...args), without looking at anything that the page can change.
 * @type {(fn: Function | undefined) => (self: any, ...args: any[]) => any}
 */
export const uncurry = bind.bind(call);

export const {
  apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys,
} = Reflect;
export const { freeze, hasOwn, keys: objectKeys } = Object;
export const ObjectPrototype = Object.prototype;
export const ArrayPrototype = Array.prototype;
export const { isArray } = Array;
export const { isView } = ArrayBuffer;
export const { parse: jsonParse, stringify: jsonStringify } = JSON;
export const objectToString = uncurry(Object.prototype.toString);

export const NativeMap = Map;
export const mapGet = uncurry(Map.prototype.get);
export const mapSet = uncurry(Map.prototype.set);
export const mapHas = uncurry(Map.prototype.has);
export const mapDelete = uncurry(Map.prototype.delete);
export const mapForEach = uncurry(Map.prototype.forEach);
export const mapSize = getter(Map.prototype, 'size');
export const NativeSet = Set;
export const setAdd = uncurry(Set.prototype.add);
export const setHas = uncurry(Set.prototype.has);
export const setDelete = uncurry(Set.prototype.delete);
export const setForEach = uncurry(Set.prototype.forEach);
export const setSize = getter(Set.prototype, 'size');
export const NativeWeakMap = WeakMap;
export const weakGet = uncurry(WeakMap.prototype.get);
export const weakSet = uncurry(WeakMap.prototype.set);

export const charCodeAt = uncurry(String.prototype.charCodeAt);
export const slice = uncurry(String.prototype.slice);
export const toWellFormed = uncurry(/** @type {any} */ (String.prototype).toWellFormed);
export const numberValueOf = uncurry(Number.prototype.valueOf);
export const stringValueOf = uncurry(String.prototype.valueOf);
export const booleanValueOf = uncurry(Boolean.prototype.valueOf);
export const bigintValueOf = uncurry(BigInt.prototype.valueOf);
export const NativeString = String;
export const { random } = Math;

const TypedArray = /** @type {any} */ (getPrototypeOf(Uint8Array));
/** The name of a typed array's class, undefined for everything else. It never throws. */
export const typedArrayName = getter(TypedArray.prototype, Symbol.toStringTag);
export const typedArrayLength = getter(TypedArray.prototype, 'length');
export const bufferLength = getter(ArrayBuffer.prototype, 'byteLength');
export const NativeUint8Array = Uint8Array;
export const { iterator, toStringTag } = Symbol;

export const NativeTypeError = TypeError;
export const NativeDOMException = DOMException;
export const NativeEventTarget = EventTarget;
export const NativeEvent = Event;
export const addEventListener = uncurry(EventTarget.prototype.addEventListener);
export const removeEventListener = uncurry(EventTarget.prototype.removeEventListener);
export const dispatchEvent = uncurry(EventTarget.prototype.dispatchEvent);
export const stopImmediatePropagation = uncurry(Event.prototype.stopImmediatePropagation);
export const defaultPrevented = getter(Event.prototype, 'defaultPrevented');

export const NativeAbortController = AbortController;
export const controllerSignal = getter(AbortController.prototype, 'signal');
export const controllerAbort = uncurry(AbortController.prototype.abort);
export const signalAborted = getter(AbortSignal.prototype, 'aborted');
export const signalReason = getter(AbortSignal.prototype, 'reason');

export const NativePromise = Promise;
export const promiseThen = uncurry(Promise.prototype.then);
const plainThen = Promise.prototype.then;

/**
 * own gives a native promise of ours its own `constructor` and `then`, so that neither `then`, `await` nor the browser's
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

/**
 * microtask runs fn when the running script has returned.
 * @param {() => void} fn
 */
export function microtask(fn) {
  promiseThen(settled, fn);
}

/**
 * getter returns the captured getter of an accessor as a function of its object.
 * @param {object} object
 * @param {PropertyKey} name
 */
export function getter(object, name) {
  return uncurry(getOwnPropertyDescriptor(object, name)?.get);
}
