// @ts-check
// Parts of the page that are loaded after its first screen.

import { signal } from '@preact/signals';

import { Awaited } from './load.jsx';

/** @typedef {typeof import('../rest.jsx')} Rest */

const rest = signal(/** @type {{value?: Rest, problem?: unknown}} */ ({}));
/** @type {Promise<void> | undefined} */
let loading;

/** Loads them, once. */
function load() {
  loading ??= import('../rest.jsx').then((value) => { rest.value = { value }; }, (problem) => {
    rest.value = { problem };
    loading = undefined;
  });
  return loading;
}

/**
 * A component among them.
 * @template {keyof Rest} N
 * @param {N} name @param {string} [title] of a screen, until it is there
 */
export function later(name, title) {
  return (/** @type {any} */ props) => {
    const { value, problem } = rest.value;
    if (value !== undefined) {
      const Part = /** @type {import('preact').ComponentType<any>} */ (value[name]);
      return <Part {...props} />;
    }
    if (problem === undefined) load();
    return <>{title && <h1>{title}</h1>}<Awaited of={{ value, problem, load }} /></>;
  };
}

addEventListener('load', () => setTimeout(load, 1000));
