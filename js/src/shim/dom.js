// @ts-check
// The document as it is, read through accessors that were captured before any script of the page ran. `document`, `location`
// and `window` cannot be replaced by a page; what they inherit can.

import { members, uncurry } from './natives.js';
import { cut } from './errors.js';

const maxTitle = 512;
const maxURL = 8 * 1024;
const maxLang = 64;

export const global = window;
export const [documentURL, documentTitle, documentElement, documentView, readyState, querySelector] =
  members('Document', 'URL', 'title', 'documentElement', 'defaultView', 'readyState', 'querySelector');
const [getAttribute] = members('Element', 'getAttribute');
export const [windowOrigin] = members(window, 'origin');

/** @returns {{__proto__: null, url: string, title: string, origin: string, lang: string}} */
export function documentInfo() {
  const root = documentElement(document);
  const lang = root === null ? null : getAttribute(root, 'lang');
  return {
    __proto__: null,
    url: cut(documentURL(document), maxURL),
    title: cut(documentTitle(document), maxTitle),
    origin: windowOrigin(global),
    lang: lang === null ? '' : cut(lang, maxLang),
  };
}

/** A document whose frame was removed or that was left is not active. */
export function isActive() {
  return documentView(document) === global;
}

/**
 * isAllowed tells whether the permissions policy `tools` lets this document have tools. A browser that does not know the
 * feature cannot say, and then nothing is refused here.
 */
export const isAllowed = policyCheck();

/** @returns {() => boolean} */
function policyCheck() {
  const policy = /** @type {any} */ (document).featurePolicy;
  if (policy === undefined) return () => true;
  const features = policy.features();
  let known = false;
  for (let i = 0; i < features.length; i++) known = known || features[i] === 'tools';
  const allows = uncurry(policy.allowsFeature);
  return () => !known || allows(policy, 'tools');
}
