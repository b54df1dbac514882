// @ts-check
// A long list of rows of one height, of which only those are in the document that are seen.

import { Component } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

const height = 28; // pixels of a row, as in console.css
const beside = 6; // rows above and below those that are seen
const most = 58;

/**
 * @template T
 * @param {{all: T[], active: number, row: (one: T, index: number) => import('preact').ComponentChildren, near: (top: boolean, end: boolean) => void, label: string}} props
 *   active is a row that stays in the document wherever the list is; near hears whether its beginning is seen, and whether its end is not far
 */
export function Virtual({ all, active, row, near, label }) {
  const at = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [seen, setSeen] = useState({ top: 0, room: 0 });
  const look = () => {
    const { scrollTop: top = 0, clientHeight: room = 0 } = at.current ?? {};
    setSeen((was) => (was.top === top && was.room === room ? was : { top, room }));
    near(top < height, top + 3 * room > all.length * height);
  };
  useLayoutEffect(look, [all]); // also of the same length: it may have begun anew while older rows were on their way
  useEffect(() => {
    const sizes = new ResizeObserver(look);
    if (at.current) sizes.observe(at.current);
    return () => sizes.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(seen.top / height) - beside);
  const last = Math.min(all.length, first + Math.min(most, Math.ceil(seen.room / height) + 2 * beside + 1));
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  if (active >= 0 && active < all.length && (active < first || active >= last)) shown.push(active);
  return (
    <div ref={at} class="virtual" role="rowgroup" aria-label={label} onScroll={look}>
      <div class="virtual-room" role="presentation" ref={(e) => { if (e) e.style.height = `${all.length * height}px`; }}>
        {shown.map((i) => row(all[i], i))}
      </div>
    </div>
  );
}

/** A part that is drawn again only with other properties. @template P @extends {Component<P>} */
export class Steady extends Component {
  /** @param {Record<string, unknown>} next */
  shouldComponentUpdate(next) {
    const was = /** @type {Record<string, unknown>} */ (this.props);
    return Object.keys(next).some((name) => next[name] !== was[name]);
  }
}

/** Places a row of a long list. @param {number} index @returns {(e: HTMLElement | null) => void} */
export const placed = (index) => (e) => { if (e) e.style.top = `${index * height}px`; };

/** Brings a row of a long list into view. @param {number} index */
export function show(index) {
  const list = document.querySelector('.virtual');
  if (list === null) return;
  if (index * height < list.scrollTop) list.scrollTop = index * height;
  else if ((index + 1) * height > list.scrollTop + list.clientHeight) list.scrollTop = (index + 1) * height - list.clientHeight;
}
