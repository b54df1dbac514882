// @ts-check
// How pages see and run tools: getTools and executeTool of the current generation, over the documents of this origin in the tab.

import { checkUse, convertOptions, reader, required, serialise, throwIfAborted } from '../declaration.js';
import { is, isObject } from '../encode.js';
import { domError, typeError } from '../errors.js';
import { eachPeer, peerOf } from '../frames.js';
import {
  NativePromise, addEventListener, append, jsonParse, members, signalReason, sort,
} from '../natives.js';
import { checkSecure, originOf } from '../origins.js';

const maxInput = 64 * 1024 * 1024;
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
 * registered makes a RegisteredTool, in the realm of who asks.
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
  const where = reader(tool, 'RegisteredTool', prefix);
  required(tool.description, where('description'));
  const name = required(tool.name, where('name'));
  const origin = required(tool.origin, where('origin'));
  const view = tool.window;
  if (view === undefined) required(view, where('window'));
  if (!is(isClosed, view)) throw typeError(`${where('window')}Failed to convert value to 'Window'.`);
  const text = inputText(input, `${prefix}invalid input object: `);
  const { signal } = convertOptions(options, prefix, 'ModelContextExecuteToolOptions', '');
  checkUse();
  throwIfAborted(signal);
  const target = originOf(origin);
  if (target === null) throw domError('NotSupportedError', 'The origin of the tool is not supported.');
  if (isClosed(view)) throw domError('InvalidStateError', 'The document is not active.');
  const peer = peerOf(view);
  const found = peer !== null && peer.origin() === target ? peer.find(name) : null;
  if (peer === null || found === null) throw failed();
  return runTool(peer, found, text, signal);
}

/**
 * runTool resolves to the string that a tool's result becomes.
 * @param {Peer} peer
 * @param {Tool} tool
 * @param {string} text
 * @param {AbortSignal | undefined} signal
 */
export function runTool(peer, tool, text, signal) {
  return new NativePromise((resolve, reject) => {
    const cancel = peer.run(tool, text, resolve, () => reject(failed()));
    if (signal === undefined) return;
    addEventListener(signal, 'abort', () => {
      reject(signalReason(signal));
      cancel();
    }, { __proto__: null, once: true });
  });
}

function failed() {
  const message = 'Tool was executed but the invocation failed. For example, the script function threw an error';
  return domError('UnknownError', message);
}

/**
 * inputText writes the input as JSON. A string is what the generations before 155 gave: JSON already.
 * @param {any} input
 * @param {string} prefix
 * @returns {string}
 */
export function inputText(input, prefix) {
  if (input === undefined) return '{}';
  let value = input;
  if (typeof input === 'string') {
    try {
      value = jsonParse(input);
    } catch {
      // not an object either
    }
  }
  if (!isObject(value)) throw typeError(`${prefix}value is not an object`);
  if (value !== input) return input;
  return serialise(value, maxInput, 'input', prefix) ?? '';
}
