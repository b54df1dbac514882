// @ts-check
// A button that has just appeared, or moved, was not what a person meant to press.

import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const ripeAfter = 500; // milliseconds

/**
 * Reports whether an element was in its place for long enough, in a tab that is seen.
 * @returns {[import('preact').RefObject<any>, boolean]} the ref of the element, and whether it is ripe
 */
export function useRipe() {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const [ripe, setRipe] = useState(false);
  const last = useRef('');
  const begin = useRef(() => {});
  const look = () => {
    const box = ref.current?.getBoundingClientRect();
    const place = box ? `${Math.round(box.left + scrollX)} ${Math.round(box.top + scrollY)}` : '';
    if (place !== last.current) {
      last.current = place;
      begin.current();
    }
  };
  useLayoutEffect(() => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let soon;
    begin.current = () => {
      clearTimeout(soon);
      setRipe(false);
      if (!document.hidden) soon = setTimeout(setRipe, ripeAfter, true);
    };
    begin.current();
    const sizes = new ResizeObserver(look);
    sizes.observe(document.body);
    const again = () => begin.current();
    document.addEventListener('visibilitychange', again);
    return () => {
      clearTimeout(soon);
      sizes.disconnect();
      document.removeEventListener('visibilitychange', again);
    };
  }, []);
  useLayoutEffect(look); // after each drawing
  return [ref, ripe];
}

/** @param {KeyboardEvent} e a key that is held answers nothing */
export const noRepeat = (e) => { if (e.repeat && (e.key === 'Enter' || e.key === ' ')) e.preventDefault(); };
