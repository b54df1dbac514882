// @ts-check
// How pages see and run tools: getTools and executeTool of the current generation, over the documents of this origin in the tab.

import { checkUse, convertOptions, convertTool, reader, required, throwIfAborted } from '../declaration.js';
import { global } from '../dom.js';
import { is, isObject } from '../encode.js';
import { domError, typeError } from '../errors.js';
import { eachPeer, peerOf } from '../frames.js';
import {
  NativePromise, addEventListener, append, jsonParse, jsonStringify, members, microtask, removeEventListener, signalReason, sort,
} from '../natives.js';
import { checkSecure, originOf } from '../origins.js';

export const notArguments = 'Failed to parse input arguments';
const [isClosed] = members(window, 'closed');

/**
 * listTools answers getTools.
 * @param {any} options
 * @param {string} prefix
 */
export function listTools(options, prefix) {
  const { origins } = convertOptions(options, prefix, 'ModelContextGetToolOptions', 'fromOrigins');
  checkUse();
  checkSecure(origins, 'fromOrigins');
  /** @type {any[]} */
  const list = [];
  eachPeer((peer) => peer.each((tool) => append(list, registered(tool, peer))));
  return sort(list, (/** @type {any} */ a, /** @type {any} */ b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/**
 * registered makes a RegisteredTool, in the realm of its caller.
 * @param {Tool} tool
 * @param {Peer} peer
 */
function registered(tool, peer) {
  const { annotations, description, inputSchema, name, outputSchema, title = '' } = tool;
  return {
    ...(tool.annotated ? { annotations: {
      consequentialHint: false, debugging: false, readOnlyHint: false, untrustedContentHint: false, ...jsonParse(`{${annotations}}`),
    } } : {}),
    description,
    ...(inputSchema ? { inputSchema: jsonParse(inputSchema) } : {}),
    name,
    origin: peer.origin(),
    ...(outputSchema ? { outputSchema: jsonParse(outputSchema) } : {}),
    title,
    window: peer.window,
  };
}

/**
 * executeTool runs a tool of this document or of another one of its origin.
 * @param {any} tool
 * @param {any} input
 * @param {any} options
 * @param {string} prefix
 */
export function executeTool(tool, input, options, prefix) {
  const { name } = convertTool(tool, prefix, 'provideContext', 'RegisteredTool');
  const where = reader(tool, 'RegisteredTool', prefix);
  const origin = required(tool.origin, where('origin'));
  const view = tool.window;
  if (view === undefined) required(view, where('window'));
  if (!is(isClosed, view)) throw typeError(`${where('window')}Failed to convert value to 'Window'.`);
  const text = inputText(input, `${prefix}invalid input object: `);
  const { signal } = convertOptions(options, prefix, 'ExecuteToolOptions', '');
  checkUse();
  const target = originOf(origin);
  if (target === '') throw domError('NotSupportedError', 'The provided origin is invalid.');
  if (target === 'null') throw domError('NotSupportedError', 'Cannot execute tools that live in a document with an opaque origin.');
  if (isClosed(view)) throw domError('InvalidStateError', 'Target frame is detached.');
  throwIfAborted(signal);
  const peer = peerOf(view);
  const found = peer !== null && peer.origin() === target ? peer.find(name) : null;
  if (peer === null || found === null) throw unknown('The operation failed for an unknown transient reason (e.g. out of memory).');
  return runTool(peer, found, text, signal);
}

/** @param {string} message */
export const unknown = (message) => domError('UnknownError', message);

/**
 * runTool resolves to the string that a tool's result becomes. The tool hears when the signal aborts, which it may do itself, and
 * when this document goes away.
 * @param {Peer} peer
 * @param {Tool} tool
 * @param {string} text
 * @param {AbortSignal | undefined} signal
 */
export function runTool(peer, tool, text, signal) {
  return new NativePromise((resolve, reject) => {
    const leave = () => cancel();
    const end = (/** @type {(value: any) => void} */ settle) => (/** @type {any} */ value) => {
      removeEventListener(global, 'pagehide', leave);
      settle(value);
    };
    addEventListener(global, 'pagehide', leave);
    if (signal !== undefined) {
      addEventListener(signal, 'abort', () => {
        reject(signalReason(signal));
        microtask(leave);
      }, { __proto__: null, once: true });
    }
    const cancel = peer.run(tool, text, end(resolve), () => {
      end(reject)(unknown('Tool was executed but the invocation failed. For example, the script function threw an error'));
    });
  });
}

/**
 * inputText writes the input as JSON. A string is JSON already, as generations before 155 passed it.
 * @param {any} input
 * @param {string} prefix
 * @returns {string}
 */
export function inputText(input, prefix) {
  if (input === undefined) return '{}';
  let text = input;
  let value = input;
  try {
    if (typeof input === 'string') value = jsonParse(input);
  } catch {
    // not an object either
  }
  if (!isObject(value)) throw typeError(`${prefix}value is not an object`);
  if (value === input) text = jsonStringify(value);
  if (text === undefined) throw typeError(`${prefix}toJSON() returns undefined`);
  if (!isObject(jsonParse(text))) throw unknown(notArguments);
  return text;
}
