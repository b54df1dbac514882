// @ts-check
// One more look before something that cannot be undone.

import { useEffect, useRef } from 'preact/hooks';

import { noRepeat } from './ripe.js';

/**
 * Asks whether to go on; the focus begins on Cancel, and goes back to where it was.
 * @param {{title: import('preact').ComponentChildren, verb: string, run: () => void, stop: () => void, children: import('preact').ComponentChildren}} props
 */
export function Sure({ title, verb, run, stop, children }) {
  const at = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    at.current?.showModal();
  }, []);
  const closed = useRef(false);
  const close = () => {
    closed.current = true; // the event comes later, maybe when it is asked again
    at.current?.close(); // which gives the focus back
    stop();
  };
  return (
    <dialog ref={at} aria-labelledby="sure-title" onClose={() => closed.current || stop()} onKeyDown={noRepeat}>
      <h2 id="sure-title">{title}</h2>
      {children}
      <p class="answers">
        <button type="button" autofocus onClick={close}>Cancel</button>
        <button type="button" class="primary danger" onClick={() => {
          close();
          run();
        }}><span aria-hidden="true">▲ </span>{verb}</button>
      </p>
    </dialog>
  );
}
