// @ts-check
// Which origins a page may expose its tools to: those that the platform calls potentially trustworthy.

import { getter, slice } from './natives.js';
import { domError } from './errors.js';

const NativeURL = URL;
const urlProtocol = getter(URL.prototype, 'protocol');
const urlHostname = getter(URL.prototype, 'hostname');

/**
 * checkExposedTo throws a SecurityError unless every entry is trustworthy.
 * @param {Origins | null} origins
 */
export function checkExposedTo(origins) {
  for (let entry = origins; entry !== null; entry = entry.next) {
    if (!isTrustworthy(entry.url)) {
      throw domError('SecurityError', 'Only secure origins are allowed in the exposedTo list.');
    }
  }
}

/** @param {string} text */
function isTrustworthy(text) {
  let url;
  try {
    url = new NativeURL(text);
  } catch {
    return false;
  }
  switch (urlProtocol(url)) {
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
