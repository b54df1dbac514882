// @ts-check
// Where in the page a person is. The address has it in its hash, which no browser sends: #/SCREEN/REST?QUERY.

import { signal } from '@preact/signals';

/** @typedef {{screen: string, rest: string[], query: URLSearchParams}} Place */

/** @returns {Place} */
function read() {
  // What does not begin with a slash is a credential, and no place.
  const [path, query = ''] = location.hash.startsWith('#/') ? location.hash.slice(2).split('?', 2) : [''];
  const [screen, ...rest] = path.split('/').map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { screen: screen || 'inbox', rest: rest.filter(Boolean), query: new URLSearchParams(query) };
}

/** Where the person is now. */
export const place = signal(read());

addEventListener('hashchange', () => { place.value = read(); });

/**
 * Shows what is open without a step back for each.
 * @param {string[]} path
 */
export function note(...path) {
  rewrite(`#/${path.map(encodeURIComponent).join('/')}`);
}

/**
 * Notes what is chosen on a screen, without a step back for each.
 * @param {string} screen @param {Record<string, string>} query members that are '' are left out
 */
export function noteQuery(screen, query) {
  const chosen = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  history.replaceState(null, '', `#/${screen}${chosen.size > 0 ? `?${chosen}` : ''}`);
  place.value = read();
}

/**
 * Goes to another place, with a step back to this one.
 * @param {string[]} path
 */
export function go(...path) {
  location.hash = `#/${path.map(encodeURIComponent).join('/')}`;
  place.value = read();
}

/** Shows another address without a step back. @param {string} hash */
export function rewrite(hash) {
  history.replaceState(null, '', hash);
  place.value = read();
}
