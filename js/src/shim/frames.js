// @ts-check
// The documents of one origin in a tab. Their shims meet by an event whose type is the tab's secret, on an object of the other
// window that no page can replace and that document.open leaves its listeners. No page code runs while it is dispatched, so that
// `window.event` never shows it. See docs/decisions/2026-11-22-frames-windows-documents.md.

import { NativeEvent, addEventListener, defineProperty, dispatchEvent, getOwnPropertyDescriptor, members } from './natives.js';
import { global } from './dom.js';

const { top } = window;
const [performanceOf] = members(window, 'performance');

/**
 * join makes what this document offers reachable for the others.
 * @param {Peer} me
 */
export function join(me) {
  addEventListener(performanceOf(global), secret, (/** @type {any} */ event) => {
    event.found.peer = me;
  });
}

/**
 * peerOf returns the document that a window shows, null when it is of another origin or has no shim.
 * @param {any} other
 * @returns {Peer | null}
 */
export function peerOf(other) {
  const found = { peer: null };
  try {
    const event = new NativeEvent(secret);
    defineProperty(event, 'found', { __proto__: null, value: found });
    dispatchEvent(performanceOf(other), event);
  } catch {
    // another origin
  }
  return found.peer;
}

/**
 * eachPeer visits the documents of this origin in the tab, this one among them.
 * @param {(peer: Peer) => void} visit
 * @param {any} [start] the window at whose frames to begin
 */
export function eachPeer(visit, start = top) {
  const peer = peerOf(start);
  if (peer !== null) visit(peer);
  try {
    for (let i = 0; ; i++) {
      const frame = getOwnPropertyDescriptor(start, i);
      if (frame === undefined) return;
      eachPeer(visit, frame.value);
    }
  } catch {
    // the last frame of a window of another origin
  }
}
