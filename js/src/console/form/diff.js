// @ts-check
// How one value differs from another, by JSON pointer.

import { children, deeper, print, same } from './json.js';

/** @typedef {import('./json.js').JSONNode} JSONNode */
/** @typedef {{pointer: string, path: string[], was?: string, is?: string}} Difference was and is are JSON; without one of them, there is nothing */

/**
 * The parts that differ. Lists are compared by index.
 * @param {JSONNode} was @param {JSONNode} is
 * @returns {Difference[]}
 */
export function differences(was, is) {
  /** @type {Difference[]} */
  const all = [];
  /** @param {JSONNode | undefined} a @param {JSONNode | undefined} b @param {string} pointer @param {string[]} path */
  const walk = (a, b, pointer, path) => {
    if (same(a, b)) return;
    if (a === undefined || b === undefined || a.kind !== b.kind || a.kind !== 'object' && a.kind !== 'array') {
      all.push({ pointer, path, ...(a && { was: print(a) }), ...(b && { is: print(b) }) });
      return;
    }
    const before = new Map(children(a).map(([step, x]) => [step, x.node])), now = new Map(children(b).map(([step, x]) => [step, x.node]));
    for (const step of new Set([...before.keys(), ...now.keys()])) walk(before.get(step), now.get(step), deeper(pointer, step), [...path, String(step)]);
  };
  walk(was, is, '', []);
  return all;
}
