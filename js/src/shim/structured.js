// @ts-check
// What a document says to whoever submitted the form that led to it: its JSON-LD.

import { global, readyState } from './dom.js';
import { utf8Length } from './encode.js';
import { findAll, nodesLength, textContent } from './formdom.js';
import { NativePromise, addEventListener, jsonParse, own, timeout, toWellFormed } from './natives.js';
import { revision } from './registry.js';
import { replyText } from './wire.js';

/**
 * readStructured returns, once the document was loaded, a reply with the list of its JSON-LD blocks, each as it was written.
 * @param {number} maxBytes
 * @returns {Promise<string>}
 */
export function readStructured(maxBytes) {
  return own(new NativePromise((resolve) => {
    const done = () => resolve(reply(maxBytes));
    if (readyState(document) === 'complete') done();
    else addEventListener(global, 'load', () => timeout(done), { __proto__: null, once: true });
  }));
}

/** @param {number} maxBytes */
function reply(maxBytes) {
  const list = findAll(document, 'script[type="application/ld+json"]');
  let payload = '';
  for (let i = 0; i < nodesLength(list); i++) {
    const text = toWellFormed(textContent(list[i]));
    try {
      jsonParse(text);
      payload += (payload === '' ? '' : ',') + text;
    } catch {
      // A block that is not JSON says nothing.
    }
  }
  payload = `[${payload}]`;
  const bytes = utf8Length(payload);
  const fits = bytes <= maxBytes;
  return replyText({
    __proto__: null, kind: fits ? 'ok' : 'too_large', rev: revision(), ran: true, name: '', message: '', payload: fits ? payload : '',
    bytes: fits ? bytes : 0,
  }, '');
}
