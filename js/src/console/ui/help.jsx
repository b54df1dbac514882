// @ts-check
// The keys of the page, and whether single letters are keys.

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { Notify } from './notify.jsx';
import { helpOpen } from './open.js';

const place = 'pagetools.letters';

/** Whether single letters do something. */
export const letters = signal(localStorage.getItem(place) !== 'off');

const keys = [
  ['?', 'This help'], ['Ctrl+K', 'Go to a screen, a site, a tool, a question or a call by name'], ['g then i', 'Inbox'], ['g then s', 'Sites'], ['g then c', 'Calls'], ['g then l', 'Live'], ['g then e', 'Sessions'], ['g then p', 'Policy'], ['g then a', 'Audit'], ['g then n', 'Clients'], ['j, k', 'Next row, previous row'], ['Enter, o', 'Open the row'], ['/', 'Filter'], ['.', 'Stop live updates of calls, and go on'], ['+, -', 'Show less, or more, time in the timeline of calls'],
  ['Esc', 'Close, and go back to the row'], ['a', 'Go to Allow; Enter then answers'], ['r', 'Give a reason and refuse: Enter then answers'], ['e', 'Edit the arguments'],
  ['t', 'Trace of the call that is open'], ['Ctrl+Enter', 'Run the tool'], ['c', 'Copy the call as a program'], ['l', 'Live view of the page; Shift+Esc leaves it'],
];

export function Help() {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const open = helpOpen.value;
  useEffect(() => {
    if (open) ref.current?.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog ref={ref} aria-labelledby="help-title" onClose={() => { helpOpen.value = false; }}>
      <h2 id="help-title">Keys and settings</h2>
      <dl>{keys.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <p><label><input type="checkbox" checked={letters.value} onChange={(e) => {
        letters.value = e.currentTarget.checked;
        localStorage.setItem(place, letters.value ? 'on' : 'off');
      }} /> Single letters are keys</label></p>
      <Notify />
      <button type="button" onClick={() => ref.current?.close()}>Close</button>
    </dialog>
  );
}
