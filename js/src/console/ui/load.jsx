// @ts-check
// What a screen asks the server for, and what it shows until that is there, or when it does not come.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { ApiError } from '../api.js';
import { visible } from '../text.js';

/**
 * @template T
 * @typedef {{value: T | undefined, problem: unknown, load: () => Promise<void>}} Loaded
 */

/**
 * Asks when the screen appears, when what it depends on changes, and when the window is seen again. What was there stays until the reply comes.
 * @template T
 * @param {() => Promise<T>} ask @param {unknown[]} on
 * @returns {Loaded<T>}
 */
export function useLoaded(ask, on) {
  const [state, setState] = useState(/** @type {{value?: T, problem?: unknown}} */ ({}));
  const asked = useRef(0);
  const load = useCallback(async () => {
    const mine = ++asked.current;
    try {
      const value = await ask();
      if (mine === asked.current) setState({ value });
    } catch (problem) {
      if (mine === asked.current) setState((before) => ({ ...before, problem }));
    }
  }, on);
  useEffect(() => {
    load();
    const again = () => { if (!document.hidden) load(); };
    document.addEventListener('visibilitychange', again);
    return () => {
      asked.current++;
      document.removeEventListener('visibilitychange', again);
    };
  }, [load]);
  return { value: state.value, problem: state.problem, load };
}

/** What is shown in the place of a value, or before an older one. @param {{of: Loaded<any>}} props */
export function Awaited({ of: { value, problem, load } }) {
  if (problem !== undefined) return <p class="problem" role="alert">{told(problem)} <button type="button" onClick={load}>Try again</button></p>;
  return value === undefined ? <p class="skeleton" aria-hidden="true" /> : null;
}

/** A failure in words, with what to tell somebody who can help. @param {unknown} e */
export function told(e) {
  if (!(e instanceof ApiError)) return 'pagetools does not answer.';
  if (e.status === 403) return `Not allowed: ${visible(e.message)}`;
  const more = [e.code, e.request && `request ${e.request}`].filter(Boolean).join(', ');
  return `${visible(e.message)}${more && ` (${more})`}`;
}
