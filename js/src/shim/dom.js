// @ts-check
// The document as it is, read through accessors that were captured before any script of the page ran. `document`, `location`
// and `window` cannot be replaced by a page; what they inherit can.

import { exec, members, uncurry } from './natives.js';
import { cut } from './errors.js';


export const global = window;
export const [documentURL, documentTitle, documentElement, documentView, readyState, querySelector] =
  members('Document', 'URL', 'title', 'documentElement', 'defaultView', 'readyState', 'querySelector');
const [getAttribute] = members('Element', 'getAttribute');
export const [windowOrigin] = members(window, 'origin');
export const [showAlert] = members(window, 'alert');
const [originAgentCluster, isSecureContext] = members(window, 'originAgentCluster', 'isSecureContext');
const knowsKeys = 'originAgentCluster' in window;

const [performanceOf] = members(window, 'performance');
const [entriesByType] = members('Performance', 'getEntriesByType');
const [responseStatus] = members('PerformanceResourceTiming', 'responseStatus');

/**
 * status: 0 when it is not known; icon: as it is written
 * @returns {{url: string, title: string, origin: string, lang: string, status: number, icon: string}}
 */
export function documentInfo() {
  const root = documentElement(document);
  const lang = root === null ? null : getAttribute(root, 'lang');
  const url = cut(documentURL(document), 8 * 1024);
  const link = querySelector(document, 'link[rel~="icon" i]');
  const icon = link === null ? '' : cut(getAttribute(link, 'href') ?? '', 2048);
  return { url, title: cut(documentTitle(document), 512), origin: windowOrigin(global), lang: cut(lang ?? '', 64), status: httpStatus(), icon };
}

/** httpStatus is the status of the response that the document came with, as the browser has it. */
function httpStatus() {
  try {
    return responseStatus(entriesByType(performanceOf(global), 'navigation')[0]);
  } catch {
    return 0; // an empty document, or an older browser
  }
}

/** A document whose frame was removed or that was left is not active. */
export function isActive() {
  return documentView(document) === global;
}

/**
 * isKeyed tells whether this document's agent cluster is keyed by origin. Where documents cannot be, on plain http and in files,
 * nothing is refused here.
 */
export function isKeyed() {
  return !knowsKeys || !isSecureContext(global) || originAgentCluster(global) || exec(/^file:/, documentURL(document)) !== null;
}

/**
 * isAllowed tells whether the permissions policy `tools` lets this document have tools. A browser that does not know the
 * feature cannot say, and then nothing is refused here.
 */
export const isAllowed = policyCheck();

/** @returns {() => boolean} */
function policyCheck() {
  const policy = /** @type {any} */ (document).featurePolicy;
  if (!policy?.features().includes('tools')) return () => true;
  const allows = uncurry(policy.allowsFeature);
  return () => allows(policy, 'tools');
}
