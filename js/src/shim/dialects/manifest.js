// @ts-check
// Tools that the page's web app manifest declares: a layer of its own, below the tools of scripts. Read once per document, when
// it has been parsed; a page counts as opened when that is done, or took too long. Calls of these tools are answered by the toolcall
// event.

import { admit, convertTool } from '../declaration.js';
import { global, querySelector, readyState } from '../dom.js';
import { cut, describe } from '../errors.js';
import { NativeMap, addEventListener, isArray, jsonParse, mapHas, mapSet, members, own, timeout, uncurry } from '../natives.js';
import { hold, renew, replaceManifest } from '../registry.js';
import { limits } from '../wire.js';

const maxManifest = 1024 * 1024;
/** How long a page is held up by its manifest, in milliseconds. */
const patience = 1000;
const nativeFetch = uncurry(fetch);
const [linkHref] = members('HTMLLinkElement', 'href');
const [responseOK, responseText] = members('Response', 'ok', 'text');

/** readManifest reads the manifest of this document and of one that may take its place in the same window. */
export function readManifest() {
  addEventListener(global, 'DOMContentLoaded', load);
  if (readyState(document) !== 'loading') load();
}

async function load() {
  renew();
  const link = querySelector(document, 'link[rel~="manifest" i][href]');
  if (link === null) return;
  const done = hold();
  timeout(done, patience);
  try {
    const options = { __proto__: null, mode: 'same-origin', credentials: 'same-origin' };
    const response = await own(nativeFetch(global, linkHref(link), options));
    const text = await own(responseText(response));
    if (responseOK(response) && text.length <= maxManifest) declare(bare(jsonParse(text)).tools);
  } catch {
    // A manifest that cannot be read declares nothing.
  }
  done();
}

/**
 * bare copies what an object has itself: what parsed JSON inherits is the page's, not the manifest's.
 * @param {any} object
 * @returns {any}
 */
function bare(object) {
  return { ...object, __proto__: null };
}

/** @param {any} list */
function declare(list) {
  const tools = new NativeMap();
  /** @type {Refusal | null} */
  let refused = null;
  for (let i = 0; isArray(list) && i < list.length && i < limits.tools + limits.refused; i++) {
    const entry = bare(list[i]);
    try {
      if (entry.annotations) entry.annotations = bare(entry.annotations);
      entry.execute = undefined;
      const draft = convertTool(entry, '', 'manifest');
      mapSet(tools, draft.name, admit(draft, (name) => mapHas(tools, name)));
    } catch (error) {
      const { message } = describe(error);
      const name = typeof entry.name === 'string' ? cut(entry.name, limits.name) : '';
      refused = { name, rule: 'invalid-manifest-entry', message, next: refused };
    }
  }
  replaceManifest(tools, refused);
}
