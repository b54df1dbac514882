// @ts-check
// Origins that a page names: which of them the platform calls potentially trustworthy.

import { members, slice } from './natives.js';
import { domError } from './errors.js';

const NativeURL = URL;
const [urlProtocol, urlHostname, urlOrigin] = members('URL', 'protocol', 'hostname', 'origin');

/**
 * checkSecure throws a SecurityError unless every entry is trustworthy.
 * @param {Origins | null} origins
 * @param {string} list
 */
export function checkSecure(origins, list) {
  for (let entry = origins; entry !== null; entry = entry.next) {
    if (!isTrustworthy(parse(entry.url))) throw domError('SecurityError', `Only secure origins are allowed in the ${list} list.`);
  }
}

/**
 * originOf returns the origin of an address, '' when it is none; an opaque one is 'null'.
 * @param {string} text
 * @returns {string}
 */
export function originOf(text) {
  const url = parse(text);
  return url === null ? '' : urlOrigin(url);
}

/** @param {string} text */
function parse(text) {
  try {
    return new NativeURL(text);
  } catch {
    return null;
  }
}

/** @param {URL | null} url */
function isTrustworthy(url) {
  switch (url === null ? '' : urlProtocol(url)) {
    case 'https:': case 'wss:': case 'file:': return true;
    case 'http:': case 'ws:': return isLoopback(urlHostname(url));
    default: return false;
  }
}

/** @param {string} host as the URL parser wrote it: lower case, addresses in their normal form */
function isLoopback(host) {
  return host === 'localhost' || slice(host, -10) === '.localhost' || host === '[::1]' || isLoopbackIPv4(host);
}

/** @param {string} host */
function isLoopbackIPv4(host) {
  if (slice(host, 0, 4) !== '127.') return false;
  const last = slice(host, -1);
  return last >= '0' && last <= '9';
}
