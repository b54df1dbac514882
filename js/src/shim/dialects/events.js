// @ts-check
// What pages listen to: toolchange, the classes ToolActivatedEvent and ToolCancelEvent, and the handler attributes of the three.

import { reader, toText } from '../declaration.js';
import { global } from '../dom.js';
import { isObject } from '../encode.js';
import { typeError } from '../errors.js';
import {
  NativeEvent, NativeMap, NativeWeakMap, addEventListener, apply, construct, defineProperty, dispatchEvent,
  getOwnPropertyDescriptor, mapGet, mapSet, removeEventListener, weakGet, weakSet,
} from '../natives.js';

/**
 * Where events are dispatched, in this order, before window; the entry fills it. With native, the browser has the context's.
 * @type {{context: any, agent: any, native: boolean}}
 */
export const targets = { context: null, agent: null, native: false };

/** @type {WeakMap<object, string>} */
const toolNames = new NativeWeakMap();
/** @type {WeakMap<object, Map<string, Handler>>} */
const handlers = new NativeWeakMap();

export const ToolActivatedEvent = toolEvent('ToolActivatedEvent');
export const ToolCancelEvent = toolEvent('ToolCancelEvent');

/** @param {string} name */
function toolEvent(name) {
  return {
    [name]: class extends NativeEvent {
      /** @param {any} type */
      constructor(type, init = /** @type {any} */ (undefined)) {
        const prefix = `Failed to construct '${name}': `;
        if (arguments.length < 1) throw typeError(`${prefix}1 argument required, but only 0 present.`);
        const where = reader(init ?? targets, `${name}Init`, prefix);
        super(type, init);
        const toolName = init?.toolName;
        weakSet(toolNames, this, toolName === undefined ? '' : toText(toolName, where('toolName')));
      }

      get toolName() {
        const toolName = weakGet(toolNames, this);
        if (toolName === undefined) throw typeError('Illegal invocation');
        return toolName;
      }
    },
  }[name];
}

/**
 * announce dispatches events of ours on every object that a generation has for them, one after another. Each object has an event
 * of its own: who keeps one finds its target unchanged.
 * @param {string} type
 * @param {string} [name] the tool's
 * @param {Function} [Class]
 */
export function announce(type, name = '', Class = NativeEvent) {
  const dispatch = (/** @type {any} */ target) => {
    const event = construct(NativeEvent, [type], Class);
    if (Class !== NativeEvent) weakSet(toolNames, event, name);
    dispatchEvent(target, event);
  };
  if (!targets.native) dispatch(targets.context);
  dispatch(targets.agent);
  dispatch(global);
}

/**
 * defineHandlers defines on an object ontoolchange, ontoolactivated and ontoolcancel.
 * @param {object} holder
 * @param {(self: any) => object} check returns the target, or throws
 */
export function defineHandlers(holder, check) {
  for (const type of ['toolchange', 'toolactivated', 'toolcancel']) {
    const name = `on${type}`;
    const accessors = {
      /** @returns {any} */
      get [name]() {
        return handler(check(this), type).callback;
      },
      /** @param {any} callback */
      set [name](callback) {
        setHandler(check(this), type, callback);
      },
    };
    defineProperty(holder, name, /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(accessors, name)));
  }
}

/**
 * @param {any} target
 * @param {string} type
 * @returns {Handler}
 */
function handler(target, type) {
  let all = weakGet(handlers, target);
  if (all === undefined) weakSet(handlers, target, all = new NativeMap());
  let found = mapGet(all, type);
  if (found === undefined) {
    found = { callback: null, listener: (/** @type {Event} */ event) => {
      if (typeof found.callback === 'function') apply(found.callback, target, [event]);
    } };
    mapSet(all, type, found);
  }
  return found;
}

/**
 * @param {any} target
 * @param {string} type
 * @param {any} callback
 */
function setHandler(target, type, callback) {
  const own = handler(target, type);
  const usable = isObject(callback) ? callback : null;
  if (own.callback === null && usable !== null) addEventListener(target, type, own.listener);
  if (usable === null) removeEventListener(target, type, own.listener);
  own.callback = usable;
}
