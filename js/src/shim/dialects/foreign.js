// @ts-check
// Objects that a page puts in the place of ours: polyfills and wrappers of libraries. They are what the page sees from then on;
// what is registered on them is mirrored into the registry, unless they pass it on to us themselves. The rules:
// docs/decisions/2026-11-22-generations-of-the-page-api.md.

import { admit, convertTool, eachOf, toText } from '../declaration.js';
import { isObject } from '../encode.js';
import {
  NativeProxy, NativeWeakMap, ObjectPrototype, addEventListener, apply, create, defineProperty, getOwnPropertyDescriptor, hasOwn, promiseThen, weakGet,
  weakSet,
} from '../natives.js';
import { changes, hasScriptTool, nothing, put, remove, removeOwned } from '../registry.js';
import { targets } from './events.js';

/** What the page sees of each foreign object. @type {WeakMap<object, object>} */
const faces = new NativeWeakMap();

/** How many changes of the registry are ours. */
let mirrored = 0;

/** What follows a method of a foreign object that passed nothing on to us. @type {{[method: string]: (owner: any, args: any[], result: any) => any}} */
const after = {
  __proto__: /** @type {any} */ (null),
  registerTool(owner, args, result) {
    const tool = mirror(owner, args[0]);
    if (tool === null) return result;
    const drop = () => count(() => remove(tool.name, tool));
    const signal = args[1]?.signal;
    if (isObject(signal)) addEventListener(signal, 'abort', drop);
    return retire(result, drop);
  },
  unregisterTool(owner, args, result) {
    const name = toText(isObject(args[0]) ? args[0].name : args[0], '');
    if (!hasScriptTool(name)) remove(name);
    return result;
  },
  provideContext(owner, args, result) {
    removeOwned(owner);
    const tools = args[0]?.tools;
    if (tools) eachOf(tools, '', (tool) => mirror(owner, tool));
    return result;
  },
  clearContext(owner, args, result) {
    removeOwned(owner);
    return result;
  },
};

/**
 * adopt watches an object that takes the place of ours, and returns what the page shall see: the object, or one that inherits
 * from it when nothing can be changed on it.
 * @param {any} object
 */
export function adopt(object) {
  if (!isObject(object) || object === targets.context || object === targets.agent) return object;
  const known = weakGet(faces, object);
  if (known !== undefined) return known;
  let face = object;
  weakSet(faces, object, object);
  try {
    for (const name in after) {
      const method = object[name];
      if (typeof method !== 'function') continue;
      const descriptor = {
        __proto__: null, writable: true, enumerable: hasOwn(object, name), configurable: true, value: watched(object, method, name),
      };
      if (defineProperty(face, name, descriptor)) continue;
      if (face === object) face = create(object);
      defineProperty(face, name, descriptor);
    }
    weakSet(faces, object, face);
    weakSet(faces, face, face);
    takeOver(object);
  } catch {
    // a proxy, or a getter, that does not want to be looked at
  }
  return face;
}

/**
 * @param {any} owner
 * @param {Function} method
 * @param {string} name
 */
function watched(owner, method, name) {
  return {
    /** @param {any[]} args */
    [name](...args) {
      const before = changes() - mirrored;
      const result = apply(method, weakGet(faces, owner) === this ? owner : this, args);
      if (changes() - mirrored !== before) return result;
      try {
        return count(() => after[name](owner, args, result));
      } catch {
        return result;
      }
    },
  }[name];
}

/**
 * count keeps the changes that mirroring makes apart from those that an object passed on.
 * @param {() => any} change
 */
function count(change) {
  const before = changes() - mirrored;
  try {
    return change();
  } finally {
    mirrored = changes() - before;
  }
}

/**
 * takeOver mirrors what was registered before the object was installed, as far as it tells.
 * @param {any} owner
 */
function takeOver(owner) {
  const each = (/** @type {any} */ list) => eachOf(list?.tools ?? list, '', (tool) => {
    if (tool?.window === undefined) mirror(owner, tool);
  });
  const ask = owner.listTools ?? owner.getTools;
  const list = owner.tools ?? (typeof ask === 'function' ? apply(ask, owner, []) : []);
  if (typeof list?.then === 'function') promiseThen(list, each, nothing);
  else each(list);
}

/**
 * mirror registers what a page registered on a foreign object. What we would refuse stays the foreign object's alone.
 * @param {any} owner
 * @param {any} given
 * @returns {Tool | null}
 */
function mirror(owner, given) {
  try {
    const draft = convertTool(given, '', 'provideContext');
    draft.via = 'registerTool';
    draft.execute ??= given.handler ?? caller(owner, draft.name);
    if (typeof draft.execute !== 'function') return null;
    const tool = admit(draft, hasScriptTool);
    tool.self = given;
    tool.owner = owner;
    put(tool);
    return tool;
  } catch {
    return null;
  }
}

/**
 * caller runs a tool of which only the foreign object knows how.
 * @param {any} owner
 * @param {string} name
 */
function caller(owner, name) {
  const method = owner.callTool;
  return typeof method === 'function' ? (/** @type {any} */ input) => apply(method, owner, [{ name, arguments: input }]) : undefined;
}

/**
 * retire watches for the ways in which a registration is withdrawn: a function, a method unregister, a promise that fails.
 * @param {any} result
 * @param {() => void} drop
 */
function retire(result, drop) {
  const dropped = (/** @type {Function} */ method, /** @type {any} */ self) => (/** @type {any[]} */ ...args) => {
    drop();
    return apply(method, self, args);
  };
  if (typeof result === 'function') return dropped(result, undefined);
  if (typeof result?.unregister === 'function') {
    const value = dropped(result.unregister, result);
    defineProperty(result, 'unregister', { __proto__: null, writable: true, configurable: true, value });
  } else if (typeof result?.then === 'function') {
    promiseThen(result, nothing, drop);
  }
  return result;
}

/**
 * expose defines an attribute that is ours until a page puts something else there.
 * @param {object} holder
 * @param {string} name
 * @param {() => object} instance
 * @param {object} value
 * @param {(self: any) => any} brand throws for what is not an instance
 * @param {(self: any) => any} [other] what other instances have
 */
export function expose(holder, name, instance, value, brand, other = nothing) {
  /** @type {WeakMap<object, any>} */
  const replaced = new NativeWeakMap();
  const accessors = {
    /** @returns {any} */
    get [name]() {
      brand(this);
      return /** @type {unknown} */ (this) === instance() ? weakGet(replaced, this) ?? value : other(this);
    },
    /** @param {any} given */
    set [name](given) {
      brand(this);
      if (isObject(given)) weakSet(replaced, this, adopt(given));
    },
  };
  defineProperty(holder, name, /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(accessors, name)));
}

/** watchDefinitions notices objects that are installed by definition, on the instance or its prototype. */
export function watchDefinitions() {
  const holders = [document, navigator, Document.prototype, Navigator.prototype];
  const places = [Object, 'defineProperty', Object, 'defineProperties', Reflect, 'defineProperty', Object.prototype, '__defineGetter__'];
  for (let i = 0; i < places.length; i += 2) {
    const place = /** @type {any} */ (places[i]);
    const name = /** @type {string} */ (places[i + 1]);
    const native = place[name];
    const handler = {
      __proto__: null,
      /**
       * @param {Function} method
       * @param {any} self
       * @param {any[]} args
       */
      apply(method, self, args) {
        const result = apply(method, self, args);
        const target = place === ObjectPrototype ? self : args[0];
        if (target === document || target === navigator || target === holders[2] || target === holders[3]) notice();
        return result;
      },
    };
    defineProperty(place, name, { value: new NativeProxy(native, handler), writable: true, configurable: true });
  }
}

function notice() {
  const look = (/** @type {any} */ instance) => {
    try {
      const object = instance.modelContext;
      const face = adopt(object);
      if (face !== object) defineProperty(instance, 'modelContext', { __proto__: null, value: face, configurable: true });
    } catch {
      // a getter that throws
    }
  };
  look(document);
  look(navigator);
}
