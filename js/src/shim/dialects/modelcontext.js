// @ts-check
// The current generation: class ModelContext with registerTool and toolchange, as document.modelContext.

import { admit, convertOptions, convertTool, throwIfAborted } from '../declaration.js';
import { isObject } from '../encode.js';
import { typeError } from '../errors.js';
import {
  NativeEventTarget, NativePromise, NativeWeakMap, addEventListener, apply, construct, defineProperty,
  getOwnPropertyDescriptor, ownKeys, removeEventListener, signalReason, toStringTag, weakGet, weakSet,
} from '../natives.js';
import { checkExposedTo } from '../origins.js';
import { add, hasScriptTool, remove } from '../registry.js';

/** The objects that our methods accept as `this`, with the toolchange handler of each. @type {WeakMap<object, Handler>} */
const ours = new NativeWeakMap();

export class ModelContext extends NativeEventTarget {
  constructor() {
    super();
    throw typeError("Failed to construct 'ModelContext': Illegal constructor");
  }

  /** @param {any} tool */
  registerTool(tool, options = undefined) {
    try {
      const prefix = "Failed to execute 'registerTool' on 'ModelContext': ";
      checkThis(this, `${prefix}Illegal invocation`);
      if (arguments.length < 1) throw typeError(`${prefix}1 argument required, but only 0 present.`);
      return register(convertTool(tool, prefix, 'registerTool'), convertOptions(options, prefix));
    } catch (error) {
      return new NativePromise((_, reject) => reject(error));
    }
  }

  get ontoolchange() {
    return checkThis(this, 'Illegal invocation').callback;
  }

  set ontoolchange(callback) {
    setHandler(this, checkThis(this, 'Illegal invocation'), callback);
  }
}

/**
 * register does all its work before it returns, so that callers of the synchronous generation see the tool registered.
 * @param {Draft} draft
 * @param {{exposedTo: Origins | null, signal: AbortSignal | undefined}} options
 */
function register(draft, options) {
  const tool = admit(draft, hasScriptTool);
  const { signal } = options;
  throwIfAborted(signal);
  checkExposedTo(options.exposedTo);
  const { promise, pending } = add(tool);
  if (signal !== undefined) {
    addEventListener(signal, 'abort', () => {
      remove(tool.name, tool);
      pending.reject(signalReason(signal));
    }, { __proto__: null, once: true });
  }
  return promise;
}

/**
 * @param {object} object
 * @param {string} message
 * @returns {Handler}
 */
export function checkThis(object, message) {
  const handler = weakGet(ours, object);
  if (handler === undefined) throw typeError(message);
  return handler;
}

/**
 * @param {object} target
 * @param {Handler} handler
 * @param {any} callback
 */
function setHandler(target, handler, callback) {
  const usable = isObject(callback) ? callback : null;
  if (handler.callback === null && usable !== null) addEventListener(target, 'toolchange', handler.listener);
  if (usable === null) removeEventListener(target, 'toolchange', handler.listener);
  handler.callback = usable;
}

/**
 * make creates the one object of a class whose constructor is illegal, and lets our methods accept it.
 * @param {Function} type
 */
export function make(type) {
  const object = construct(NativeEventTarget, [], type);
  /** @type {Handler} */
  const handler = {
    __proto__: null,
    callback: null,
    listener: (event) => {
      if (typeof handler.callback === 'function') apply(handler.callback, object, [event]);
    },
  };
  weakSet(ours, object, handler);
  return object;
}

/**
 * share gives a class the members of another one, with the attributes that WebIDL gives those of an interface.
 * @param {Function} from
 * @param {Function} to
 */
export function share(from, to) {
  const keys = ownKeys(from.prototype);
  for (let i = 0; i < keys.length; i++) {
    if (keys[i] === 'constructor' || keys[i] === toStringTag) continue;
    const descriptor = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(from.prototype, keys[i]));
    defineProperty(to.prototype, keys[i], { __proto__: null, ...descriptor, enumerable: true });
  }
}

/**
 * tag names a class for Object.prototype.toString.
 * @param {Function} type
 */
export function tag(type) {
  defineProperty(type.prototype, toStringTag, { __proto__: null, value: type.name, configurable: true });
}
