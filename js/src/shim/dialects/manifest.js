// @ts-check
// Tools that the page's web app manifest declares: a layer of its own, below the tools of scripts. Read once per document, when
// it has been parsed. Calls of these tools are answered by the toolcall event.

import { convertAnnotations, makeTool, nameFault } from '../declaration.js';
import { global, querySelector, readyState } from '../dom.js';
import { isObject } from '../encode.js';
import { cut } from '../errors.js';
import {
  NativeMap, addEventListener, hasOwn, isArray, jsonParse, mapHas, mapSet, members, own, promiseThen, typedArrayLength, uncurry,
} from '../natives.js';
import { renew, replaceManifest } from '../registry.js';
import { limits } from '../wire.js';

const maxManifest = 1024 * 1024;
const nativeFetch = uncurry(fetch);
const [linkHref] = members('HTMLLinkElement', 'href');
const [responseOK, responseBody] = members('Response', 'ok', 'body');
const [getReader] = members('ReadableStream', 'getReader');
const [readerRead, readerCancel] = members('ReadableStreamDefaultReader', 'read', 'cancel');
const NativeTextDecoder = TextDecoder;
const [decode] = members('TextDecoder', 'decode');

/** readManifest reads the manifest of this document and of one that may take its place in the same window. */
export function readManifest() {
  addEventListener(global, 'DOMContentLoaded', load);
  if (readyState(document) !== 'loading') load();
}

async function load() {
  renew();
  try {
    const link = querySelector(document, 'link[rel~="manifest" i][href]');
    if (link === null) return;
    const options = { __proto__: null, mode: 'same-origin', credentials: 'same-origin' };
    const response = await own(nativeFetch(global, linkHref(link), options));
    if (!responseOK(response) || responseBody(response) === null) return;
    declare(jsonParse(await own(readText(responseBody(response)))));
  } catch {
    // A manifest that cannot be read declares nothing.
  }
}

/** @param {ReadableStream} body */
async function readText(body) {
  const reader = getReader(body);
  const decoder = new NativeTextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const part = await own(readerRead(reader));
    if (part.done) return text + decode(decoder);
    bytes += typedArrayLength(part.value);
    if (bytes > maxManifest) {
      promiseThen(own(readerCancel(reader)), nothing, nothing);
      return '{}';
    }
    text += decode(decoder, part.value, { __proto__: null, stream: true });
  }
}

function nothing() {}

/** @param {any} manifest */
function declare(manifest) {
  const list = member(manifest, 'tools');
  const tools = new NativeMap();
  /** @type {Refusal | null} */
  let refused = null;
  if (isArray(list)) {
    for (let i = 0; i < list.length && i < limits.tools + limits.refused; i++) {
      const name = member(list[i], 'name');
      const fault = entryFault(list[i], name, tools);
      if (fault === '') mapSet(tools, name, makeTool(draft(list[i], name)));
      else refused = refusal(name, fault, refused);
    }
  }
  replaceManifest(tools, refused);
}

/**
 * entryFault says what is wrong with an entry, '' when nothing is.
 * @param {any} entry
 * @param {any} name
 * @param {Map<string, Tool>} tools
 */
function entryFault(entry, name, tools) {
  const description = member(entry, 'description');
  const schema = member(entry, 'inputSchema');
  if (typeof name !== 'string' || nameFault(name) !== '') return 'Invalid tool name';
  if (mapHas(tools, name)) return 'Duplicate tool name';
  if (typeof description !== 'string' || description === '') return 'Description is required';
  return schema === undefined || isObject(schema) ? '' : 'inputSchema is not an object';
}

/**
 * @param {any} name
 * @param {string} message
 * @param {Refusal | null} next
 * @returns {Refusal}
 */
function refusal(name, message, next) {
  return { __proto__: null, name: typeof name === 'string' ? cut(name, limits.name) : '', rule: 'invalid-manifest-entry', message, next };
}

/**
 * @param {any} entry
 * @param {string} name
 * @returns {Draft}
 */
function draft(entry, name) {
  const title = member(entry, 'title');
  const output = member(entry, 'outputSchema');
  return {
    __proto__: null, name, title: typeof title === 'string' ? title : undefined, description: member(entry, 'description'),
    inputSchema: member(entry, 'inputSchema'), outputSchema: isObject(output) ? output : undefined,
    annotations: annotations(member(entry, 'annotations')), via: 'manifest', execute: undefined, prefix: '',
  };
}

/** @param {any} value */
function annotations(value) {
  return isObject(value) && !isArray(value) ? convertAnnotations({ ...value, __proto__: null }, '') : '';
}

/**
 * member reads an own member: what parsed JSON inherits is the page's, not the manifest's.
 * @param {any} object
 * @param {string} name
 */
function member(object, name) {
  return isObject(object) && hasOwn(object, name) ? object[name] : undefined;
}
