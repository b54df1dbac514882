// @ts-check
// Runs the adapters of the operator in the documents that they are for, after the page script and before any script of the page. An
// adapter is the body of an async function of modelContext. What it registers through that, or while its first synchronous part runs,
// is marked as its own. The page shares the world with it, so the mark says who the operator thinks it is, and gives nothing.

import { documentURL, global, readyState, windowOrigin } from '../shim/dom.js';
import { NativeProxy, NativeRegExp, addEventListener, apply, exec, jsonParse, own, promiseThen, timeout } from '../shim/natives.js';

/** How long a page is held up by an adapter, in milliseconds. */
const patience = 5000;
const { registrar } = host;
const { top } = window;

/** The adapters that are for this document, by their indexes. @type {{[index: number]: AdapterConfig}} */
const configs = { __proto__: /** @type {any} */ (null) };

registrar.explain = (name) => {
  const holder = host.find(name);
  if (holder === null) return '';
  return holder.adapter === 0 ? ': the page itself has a tool of this name' : `: the adapter ${configs[holder.adapter].name} has a tool of this name`;
};

registrar.shadowed = ({ name, adapter }) => {
  if (!configs[adapter].quiet) host.problem('adapter', name, 'the page registers a tool of this name itself', '', adapter);
};

/**
 * matches tells whether an adapter is for this document.
 * @param {AdapterConfig} config
 */
function matches({ origins, match, frames }) {
  const origin = windowOrigin(global);
  const path = exec(/^https?:\/\/[^/?#]*([^#]*)/, documentURL(document))?.[1];
  if (path === undefined || !among(origins, (one) => one === origin) || !among(match, (one) => exec(new NativeRegExp(one), origin + path) !== null)) return false;
  if (global === top) return true;
  try {
    return frames && windowOrigin(top) === origin;
  } catch {
    return false; // the page is of another origin
  }
}

/**
 * @param {string[]} list
 * @param {(one: string) => boolean} is
 */
function among(list, is) {
  for (let i = 0; i < list.length; i++) if (is(list[i])) return true;
  return false;
}

/**
 * as runs code of an adapter: what it registers meanwhile is the adapter's.
 * @template T
 * @param {AdapterConfig} config
 * @param {() => T} run
 * @returns {T}
 */
function as({ index, quiet }, run) {
  const before = { adapter: registrar.adapter, quiet: registrar.quiet };
  registrar.adapter = index;
  registrar.quiet = quiet;
  try {
    return run();
  } finally {
    registrar.adapter = before.adapter;
    registrar.quiet = before.quiet;
  }
}

/**
 * marked returns document.modelContext for an adapter.
 * @param {AdapterConfig} config
 * @param {any} context
 */
function marked(config, context) {
  return new NativeProxy(context, {
    __proto__: null,
    get(_, key) {
      const value = context[key];
      if (typeof value !== 'function' || key === 'constructor') return value;
      return (/** @type {any[]} */ ...args) => as(config, () => apply(value, context, args));
    },
    set(_, key, value) {
      context[key] = value;
      return true;
    },
  });
}

/**
 * adapt runs an adapter when the document is as far as the adapter wants it. A frame's first, empty document may leave its window to
 * the next one, for which no script is started anew.
 * @param {string} text
 * @param {(context: any) => Promise<any>} run
 */
adapt = (text, run) => {
  /** @type {AdapterConfig} */
  const config = jsonParse(text);
  configs[config.index] = config;
  /** @type {Document | null} */
  let last = null;
  const consider = () => {
    if (last === document || !matches(config)) return;
    last = document;
    const over = host.wait();
    let begun = false;
    const begin = () => {
      if (begun) return;
      begun = true;
      start(config, run, over);
    };
    const state = readyState(document);
    if (config.at === 'start' || state === 'complete' || config.at === 'end' && state !== 'loading') begin();
    else addEventListener(global, config.at === 'end' ? 'DOMContentLoaded' : 'load', begin, true);
  };
  consider();
  const { renewed } = registrar;
  registrar.renewed = () => {
    renewed();
    consider();
  };
};

/**
 * start runs an adapter now.
 * @param {AdapterConfig} config
 * @param {(context: any) => Promise<any>} run
 * @param {() => void} over is called when nothing waits for it any more
 */
function start(config, run, over) {
  timeout(over, patience);
  const context = host.context();
  if (context === null || context === undefined) return over(); // the browser has no WebMCP here, which is a finding
  promiseThen(own(as(config, () => run(marked(config, context)))), over, (/** @type {any} */ reason) => {
    host.failed(config.index, reason);
    over();
  });
}
