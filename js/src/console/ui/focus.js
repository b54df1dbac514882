// @ts-check
// A person who uses the keyboard stays where they are, whatever goes.

import { useLayoutEffect } from 'preact/hooks';

const lost = () => document.activeElement === null || document.activeElement === document.body;

/**
 * Gives the focus to an element when a drawing took away what had it.
 * @param {string} id
 */
export function useKeptFocus(id) {
  const had = !lost(); // while drawing, what had it is still there
  useLayoutEffect(() => {
    if (had && lost()) document.getElementById(id)?.focus();
  });
}

/**
 * Gives the focus to the content when what had it goes with this component.
 * @param {string} selector of the component's element
 */
export function useLeftFocus(selector) {
  useLayoutEffect(() => () => {
    if (document.activeElement?.closest(selector)) document.getElementById('main')?.focus();
  }, []);
}
