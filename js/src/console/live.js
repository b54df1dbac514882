// @ts-check
// The page that asks, as it is now. Whoever holds the pen works in it with mouse and keys.

import { live } from './api.js';
import { make, passFocus } from './dom.js';

/** @typedef {{type: string} & Record<string, unknown>} Input */

const buttons = ['left', 'middle', 'right'];

/** @param {MouseEvent | KeyboardEvent} e */
const modifiers = (e) => (e.altKey ? 1 : 0) | (e.ctrlKey ? 2 : 0) | (e.metaKey ? 4 : 0) | (e.shiftKey ? 8 : 0);

/**
 * Shows the page of a question, until its call ends or close is called; or that of a session, whatever calls run in it.
 * @param {string} of the path of the question, or of the session @param {{node?: string, session?: boolean}} [more]
 */
export function show(of, { node, session = false } = {}) {
  const socket = live(of, node);
  const canvas = make('canvas', { tabIndex: 0, width: 0, height: 0 });
  canvas.setAttribute('role', 'application');
  canvas.setAttribute('aria-label', 'The page that asks');
  const state = make('span', { role: 'status' }, 'Connecting to the page…');
  const pen = make('button', { type: 'button', disabled: true }, 'Take the pen');
  const back = make('button', { type: 'button', hidden: true }, 'Back'), reload = make('button', { type: 'button', hidden: true }, 'Reload');
  const copy = make('button', { type: 'button', disabled: true }, 'Copy text');
  const said = make('span', { role: 'status', className: 'meta' });
  const text = make('input', { type: 'text', placeholder: 'Text to type into the page' });
  text.setAttribute('aria-label', 'Text to type into the page');
  const type = make('form', {}, text, make('button', {}, 'Type'));
  const view = make('div', { className: 'page', tabIndex: -1 }, make('div', { className: 'tools' }, pen, back, reload, copy, state, said), canvas, type);
  let mine = false;
  let wanted = false; // the pen was asked for: what is done after that is for the page, if the server agrees
  let offered = false;
  let copies = false; // the text of the page was asked for: nothing else is copied
  let size = { width: 0, height: 0 };

  /** @param {object} order */
  const send = (order) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(order));
  };
  /** @param {Input} input */
  const act = (input) => {
    if (mine || wanted) send({ input });
  };

  let drawn = Promise.resolve();
  /** @param {ArrayBuffer} jpeg */
  const draw = async (jpeg) => {
    const picture = await createImageBitmap(new Blob([jpeg], { type: 'image/jpeg' }));
    if (canvas.width !== picture.width || canvas.height !== picture.height) Object.assign(canvas, { width: picture.width, height: picture.height });
    canvas.getContext('2d')?.drawImage(picture, 0, 0);
    picture.close();
  };
  /** @param {Record<string, any>} message */
  const hear = (message) => {
    if (message.type === 'size') size = { width: message.width, height: message.height };
    if (message.type === 'text' && copies) {
      copies = false;
      navigator.clipboard.writeText(message.text).then(() => { said.textContent = `Copied: ${message.text.length} characters of the page.`; }, () => { said.textContent = 'Not copied: the browser does not allow it now.'; });
    }
    if (message.type === 'error') {
      wanted = copies = false;
      state.textContent = message.error.message;
    }
    if (message.type !== 'state') return;
    mine = message.mine;
    wanted &&= !mine && message.pen === '' && !message.over;
    const acts = message.question?.kind === 'interact';
    pen.disabled = message.over || (message.pen !== '' && !mine) || (session && !acts);
    pen.textContent = mine ? 'Give the pen away' : 'Take the pen';
    if (!offered && !pen.disabled && !session) passFocus(view, pen);
    offered = true;
    canvas.classList.toggle('mine', mine && acts);
    if (!(mine && acts)) for (const gone of [type, back, reload]) passFocus(gone, pen.disabled ? view : pen);
    type.hidden = back.hidden = reload.hidden = !(mine && acts);
    copy.disabled = message.over;
    state.textContent = message.over ? session ? 'The session is over.' : 'The call is over.'
      : !message.question ? session ? 'No call waits for a person in this page.' : 'The call goes on.'
        : !acts ? session ? 'The page waits for an answer in the inbox.' : 'The page waits for the answer above.'
          : mine ? 'You hold the pen: mouse and keys go to the page. Shift+Escape leaves it.'
            : message.pen === '' ? 'Nobody holds the pen.' : `${message.pen} holds the pen.`;
  };
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') hear(JSON.parse(data));
    else drawn = drawn.then(() => draw(data)).catch(() => {}); // a picture that cannot be read is followed by others
  });
  socket.addEventListener('close', ({ reason }) => {
    mine = wanted = false;
    passFocus(view, view);
    pen.disabled = copy.disabled = type.hidden = back.hidden = reload.hidden = true;
    canvas.classList.remove('mine');
    state.textContent = reason ? `Not shown any more: ${reason}.` : 'The page is not shown any more.';
  });
  type.hidden = true;
  pen.addEventListener('click', () => {
    send({ pen: !mine });
    wanted = !mine;
    if (wanted) canvas.focus();
  });
  back.addEventListener('click', () => act({ type: 'back' }));
  reload.addEventListener('click', () => act({ type: 'reload' }));
  copy.addEventListener('click', () => {
    copies = true;
    said.textContent = '';
    send({ copy: true });
  });
  type.addEventListener('submit', (e) => {
    e.preventDefault();
    if (text.value !== '') act({ type: 'text', text: text.value });
    text.value = '';
  });
  listen(canvas, () => (mine || wanted ? size : undefined), act);
  return { view, close: () => socket.close() };
}

/**
 * Sends what a person does on the canvas.
 * @param {HTMLCanvasElement} canvas @param {() => {width: number, height: number} | undefined} size of the page; none while nothing goes to it
 * @param {(input: Input) => void} act
 */
function listen(canvas, size, act) {
  /** @param {MouseEvent} e */
  const at = (e) => {
    const box = canvas.getBoundingClientRect();
    const { width, height } = size() ?? { width: 0, height: 0 };
    return { x: ((e.clientX - box.left) / box.width) * width, y: ((e.clientY - box.top) / box.height) * height, modifiers: modifiers(e) };
  };
  /** @type {Input | undefined} */
  let moved;
  canvas.addEventListener('mousemove', (e) => {
    const held = buttons.find((_, i) => e.buttons & [1, 4, 2][i]) ?? '';
    if (moved === undefined) {
      requestAnimationFrame(() => {
        if (moved) act(moved);
        moved = undefined;
      });
    }
    moved = { type: 'mousemove', button: held, ...at(e) };
  });
  for (const type of /** @type {const} */ (['mousedown', 'mouseup'])) {
    canvas.addEventListener(type, (e) => {
      if (buttons[e.button] === undefined) return;
      e.preventDefault();
      canvas.focus();
      act({ type, button: buttons[e.button], clicks: Math.min(Math.max(e.detail, 1), 3), ...at(e) });
    });
  }
  canvas.addEventListener('contextmenu', (e) => e.preventDefault());
  canvas.addEventListener('wheel', (e) => {
    if (!size()) return;
    e.preventDefault();
    const step = e.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : 16;
    act({ type: 'wheel', dx: e.deltaX * step, dy: e.deltaY * step, ...at(e) });
  }, { passive: false });
  for (const type of /** @type {const} */ (['keydown', 'keyup'])) {
    canvas.addEventListener(type, (e) => {
      if (e.key === 'Escape' && e.shiftKey) {
        canvas.blur();
        return;
      }
      if (!size() || e.isComposing) return;
      e.preventDefault();
      const writes = type === 'keydown' && e.key.length === 1 && !e.ctrlKey && !e.metaKey;
      act({ type, key: e.key, code: e.code, text: writes ? e.key : '', modifiers: modifiers(e) });
    });
  }
  canvas.addEventListener('paste', (e) => {
    e.preventDefault();
    const text = e.clipboardData?.getData('text/plain') ?? '';
    if (text !== '') act({ type: 'text', text });
  });
}
