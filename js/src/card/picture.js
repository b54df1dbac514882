// @ts-check
// The page that asks, as a picture in which a person clicks and types.

import { make } from '../console/dom.js';
import { byHand, inSight, onPress, watch } from './hand.js';

/** @typedef {{type: string} & Record<string, unknown>} Input */

const most = 32; // inputs in one request
const again = 1000; // milliseconds between two pictures
const settle = 150; // milliseconds until what is typed or scrolled goes to the page
const buttons = ['left', 'middle', 'right'];
const held = [1, 4, 2]; // the bits of these in MouseEvent.buttons

/** @param {MouseEvent | KeyboardEvent} e */
const modifiers = (e) => (e.altKey ? 1 : 0) | (e.ctrlKey ? 2 : 0) | (e.metaKey ? 4 : 0) | (e.shiftKey ? 8 : 0);

/**
 * Shows the page. look asks for a picture, act does inputs in the page and returns the picture after that, or nothing when the question
 * is over.
 * @param {(inputs: Input[] | undefined) => Promise<{src: string, width: number, height: number} | undefined>} request
 * @param {(problem: string) => void} say
 */
export function picture(request, say) {
  const image = watch(make('img', { alt: 'The page that asks, as it is now', tabIndex: 0, draggable: false }));
  const text = make('input', { type: 'text', placeholder: 'Text to type into the page' });
  text.setAttribute('aria-label', 'Text to type into the page');
  const type = make('button', { type: 'button' }, 'Type');
  const element = make('div', { className: 'page' }, make('p', { className: 'said' }, 'The page, as it is now. Click in it, and type:'), image, make('div', { className: 'row' }, text, type));
  let size = { width: 0, height: 0 };
  let over = false;
  let busy = false;
  let drawn = 0;
  /** @type {Input[]} */
  let todo = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let soon;

  /** @param {Input[] | undefined} inputs */
  const draw = async (inputs) => {
    busy = true;
    try {
      const shown = await request(inputs);
      if (shown === undefined || over) return;
      size = shown;
      drawn = performance.now();
      image.src = shown.src;
    } catch (e) {
      say(e instanceof Error ? e.message : 'The page does not show itself.');
      drawn = performance.now();
    } finally {
      busy = false;
      flush();
    }
  };
  /** Does what waits, one request after the other. */
  const flush = () => {
    clearTimeout(soon);
    soon = undefined;
    if (busy || over || todo.length === 0) return;
    draw(todo.splice(0, most));
  };
  /** @param {Input[]} inputs @param {boolean} [later] when nothing follows for a moment */
  const act = (inputs, later = false) => {
    todo.push(...inputs);
    if (!later) flush();
    else soon ??= setTimeout(flush, settle);
  };
  /** @param {MouseEvent} e */
  const at = (e) => {
    const box = image.getBoundingClientRect();
    return { x: Math.round(((e.clientX - box.left) / box.width) * size.width), y: Math.round(((e.clientY - box.top) / box.height) * size.height), modifiers: modifiers(e) };
  };
  /** @param {Event} e */
  const mine = (e) => !over && size.width > 0 && byHand(e, image);

  /** @type {Input[]} a press and the way of the mouse until it is let go */
  let press = [];
  image.addEventListener('mousedown', (e) => {
    e.preventDefault();
    image.focus();
    if (!mine(e) || buttons[e.button] === undefined) return;
    press = [{ type: 'mousemove', ...at(e) }, { type: 'mousedown', button: buttons[e.button], clicks: Math.min(Math.max(e.detail, 1), 3), ...at(e) }];
  });
  image.addEventListener('mousemove', (e) => {
    const button = buttons.find((_, i) => e.buttons & held[i]);
    if (press.length === 0 || button === undefined || !mine(e)) return;
    if (press.length < most - 2) press.push({ type: 'mousemove', button, ...at(e) });
  });
  image.addEventListener('mouseup', (e) => {
    e.preventDefault();
    if (press.length > 0 && mine(e)) act([...press, { ...press[1], type: 'mouseup', ...at(e) }]);
    press = [];
  });
  image.addEventListener('contextmenu', (e) => e.preventDefault());
  image.addEventListener('dragstart', (e) => e.preventDefault());
  image.addEventListener('wheel', (e) => {
    if (!mine(e)) return;
    e.preventDefault();
    const step = e.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : 16;
    act([{ type: 'wheel', dx: Math.round(e.deltaX * step), dy: Math.round(e.deltaY * step), ...at(e) }], true);
  }, { passive: false });
  image.addEventListener('keydown', (e) => {
    if (e.key === 'Escape' && e.shiftKey) image.blur();
    else if (mine(e) && !e.isComposing) {
      e.preventDefault();
      const writes = e.key.length === 1 && !e.ctrlKey && !e.metaKey;
      const key = { key: e.key, code: e.code, text: writes ? e.key : '', modifiers: modifiers(e) };
      act([{ type: 'keydown', ...key }, { type: 'keyup', ...key, text: '' }], true);
    }
  });
  const write = () => {
    if (text.value !== '' && !over) act([{ type: 'text', text: text.value.toWellFormed() }]);
    text.value = '';
  };
  onPress(type, write);
  watch(text);
  text.addEventListener('keydown', (e) => {
    if (e.key === 'Enter' && !e.repeat && byHand(e, text)) write();
  });
  const timer = setInterval(() => {
    if (!busy && !over && todo.length === 0 && performance.now() - drawn >= again && (inSight(image) || size.width === 0)) draw(undefined);
  }, again / 4);
  draw(undefined);
  return {
    element,
    close: () => {
      over = true;
      clearInterval(timer);
    },
  };
}
