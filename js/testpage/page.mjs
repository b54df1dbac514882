// @ts-check
// A page without a browser: the committed bundle in a vm context of its own, with the few parts of the platform that it
// touches. Everything that a test hands to `run` is script of that page.
import { readFileSync } from 'node:fs';
import vm from 'node:vm';

const bundle = readFileSync(new URL('../dist/shim.js', import.meta.url), 'utf8');
const platform = readFileSync(new URL('platform.js', import.meta.url), 'utf8');
export const name = '_00112233445566778899aabbccddeeff';
export const secret = '_ffeeddccbbaa99887766554433221100';

/**
 * @param {{manifest?: string, before?: string, random?: boolean}} [options] manifest: what the page's link leads to; before: script
 * that runs first; random: leave Math.random as it is
 */
export function openPage(options = {}) {
  const { EventTarget, Event, DOMException, AbortController, AbortSignal, URL, TextDecoder, TextEncoder, setTimeout, Response,
    ReadableStream, ReadableStreamDefaultReader, atob } = globalThis;
  const context = vm.createContext({
    EventTarget, Event, DOMException, AbortController, AbortSignal, URL, TextDecoder, TextEncoder, setTimeout, Response, ReadableStream,
    ReadableStreamDefaultReader, atob, manifestText: options.manifest,
  });
  const run = (/** @type {string} */ script) => vm.runInContext(script, context);
  run(platform);
  if (!options.random) run('Math.random = () => 0;'); // ids begin at random, which tests seldom want
  if (options.before) run(options.before);
  run(`const ${name} = ${bundle}('${secret}');`);
  let calls = 0;
  const evaluate = (/** @type {string} */ method, /** @type {any[]} */ ...args) =>
    run(`'use strict';${name}.${method}(${args.map((a) => JSON.stringify(a)).join(',')})`);
  const page = {
    run,
    evaluate,
    /** The state now. @returns {Promise<any>} */
    state: async () => JSON.parse(await evaluate('watch', -1)),
    /** Calls a tool by name. @returns {Promise<any>} */
    async call(/** @type {string} */ tool, /** @type {any} */ input = {}, /** @type {any} */ { max = 1 << 20, known = 1e9, id = `c${++calls}` } = {}) {
      const found = (await page.state()).tools.find((/** @type {any} */ t) => t.name === tool);
      return parseReply(await evaluate('call', id, found ? found.id : 0, JSON.stringify(input), max, known));
    },
  };
  return page;
}

/**
 * parseReply takes a reply text apart, by the layout in shim/doc.go.
 * @param {string} text
 */
export function parseReply(text) {
  const bytes = Buffer.from(text, 'utf8');
  const start = bytes.indexOf(10) + 1;
  const header = JSON.parse(bytes.subarray(0, start).toString('utf8'));
  if (bytes.length !== start + header.len + header.state) throw new Error(`bad lengths in ${text.slice(0, 300)}`);
  const payload = bytes.subarray(start, start + header.len).toString('utf8');
  const state = header.state === 0 ? null : JSON.parse(bytes.subarray(start + header.len).toString('utf8'));
  return { ...header, text, json: payload, payload: payload === '' ? undefined : JSON.parse(payload), state };
}
