// @ts-check
// The current generation: class ModelContext with registerTool, getTools, executeTool and their events, as document.modelContext.

import { admit, convertOptions, convertTool, throwIfAborted } from '../declaration.js';
import { domError, typeError } from '../errors.js';
import {
  NativeEventTarget, NativePromise, NativeWeakMap, addEventListener, construct, defineProperty, getOwnPropertyDescriptor, ownKeys,
  signalAborted, signalReason, toStringTag, weakGet, weakSet,
} from '../natives.js';
import { checkSecure } from '../origins.js';
import { gaveUp, refusing } from '../problems.js';
import { add, isTaken, remove } from '../registry.js';
import { executeTool, listTools } from './query.js';

/** The objects that our methods accept as `this`, with the name of their interface. @type {WeakMap<object, string>} */
const ours = new NativeWeakMap();
/** Those of documents that no window shows, by document; each is a key, too. @type {WeakMap<object, any>} */
const inactive = new NativeWeakMap();

export class ModelContext extends NativeEventTarget {
  constructor() {
    super();
    throw typeError("Failed to construct 'ModelContext': Illegal constructor");
  }

  /** @param {any} tool */
  registerTool(tool, options = undefined) {
    return answer(this, 'registerTool', arguments.length, 1, (prefix) => {
      const draft = refusing(tool, () => convertTool(tool, prefix, 'registerTool'));
      return register(draft, refusing(draft, () => convertOptions(options, prefix, 'ModelContextRegisterToolOptions', 'exposedTo')));
    });
  }

  getTools(options = undefined) {
    return answer(this, 'getTools', 0, 0, (prefix) => new NativePromise((resolve) => resolve(listTools(options, prefix))));
  }

  /** @param {any} tool */
  executeTool(tool, inputObject = undefined, options = undefined) {
    return answer(this, 'executeTool', arguments.length, 1, (prefix) => executeTool(tool, inputObject, options, prefix));
  }
}

/**
 * answer runs a method that answers with a promise: whatever it throws rejects it.
 * @param {object} self
 * @param {string} method
 * @param {number} given how many arguments
 * @param {number} needed
 * @param {(prefix: string) => Promise<any>} run
 * @param {string} [type]
 */
export function answer(self, method, given, needed, run, type = 'ModelContext') {
  try {
    const prefix = checkCall(self, method, given, needed, type);
    if (weakGet(inactive, self) !== undefined) throw domError('InvalidStateError', 'The document is not active.');
    return run(prefix);
  } catch (error) {
    return new NativePromise((_, reject) => reject(error));
  }
}

/**
 * inactiveContext returns the object of a document that no window shows: its methods fail.
 * @param {object} document
 */
export function inactiveContext(document) {
  let context = weakGet(inactive, document);
  if (context === undefined) {
    context = claim(construct(NativeEventTarget, [], ModelContext));
    weakSet(inactive, document, context);
    weakSet(inactive, context, context);
  }
  return context;
}

/**
 * checkCall checks `this` and the count of arguments, and returns what opens the messages of errors.
 * @param {object} self
 * @param {string} method
 * @param {number} given
 * @param {number} needed
 * @param {string} [type]
 */
export function checkCall(self, method, given, needed, type = 'ModelContext') {
  const prefix = `Failed to execute '${method}' on '${type}': `;
  checkThis(self, type, prefix);
  if (given < needed) {
    throw typeError(`${prefix}${needed} argument${needed > 1 ? 's' : ''} required, but only ${given} present.`);
  }
  return prefix;
}

/**
 * checkThis returns an object of ours, or throws.
 * @param {object} self
 * @param {string} [type]
 * @param {string} [prefix]
 */
export function checkThis(self, type = 'ModelContext', prefix = '') {
  if (weakGet(ours, self) !== type) throw typeError(`${prefix}Illegal invocation`);
  return self;
}

/**
 * register does all its work before it returns, so that callers of the synchronous generation see the tool registered.
 * @param {Draft} draft
 * @param {{origins: Origins | null, signal: AbortSignal | undefined}} options
 */
function register(draft, { origins, signal }) {
  const tool = refusing(draft, () => admit(draft, isTaken));
  if (signal !== undefined && signalAborted(signal)) gaveUp(signalReason(signal));
  throwIfAborted(signal);
  refusing(draft, () => checkSecure(origins, 'exposedTo'));
  tool.exposedTo = origins;
  const { promise, pending } = add(tool);
  if (signal !== undefined) {
    addEventListener(signal, 'abort', () => {
      remove(tool.name, tool);
      gaveUp(signalReason(signal), promise);
      pending.reject(signalReason(signal));
    }, { __proto__: null, once: true });
  }
  return promise;
}

/**
 * claim lets our methods accept an object.
 * @param {object} object
 * @param {string} [type]
 */
export function claim(object, type = 'ModelContext') {
  weakSet(ours, object, type);
  return object;
}

/**
 * share gives a class the members of another one, or its own again, with the attributes that WebIDL gives those of an
 * interface, and names it for Object.prototype.toString.
 * @param {Function} from
 * @param {Function} [to]
 */
export function share(from, to = from) {
  for (const key of ownKeys(from.prototype)) {
    if (key === 'constructor' || key === toStringTag) continue;
    const descriptor = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(from.prototype, key));
    descriptor.enumerable = true;
    defineProperty(to.prototype, key, descriptor);
  }
  defineProperty(to.prototype, toStringTag, { value: to.name, configurable: true });
}
