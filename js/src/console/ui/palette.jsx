// @ts-check
// The palette: one field that goes anywhere and does anything, by name.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

import { visible } from '../text.js';
import { score } from './fuzzy.js';
import { paletteOpen } from './open.js';

/** @typedef {{name: string, kind: string, of?: string, act: () => void}} Choice name may be a stranger's; kind is a word of ours, of says whose it is */

const most = 50; // that are shown
const longest = 128; // characters of a name that are looked at

/** @param {{choices: Choice[]}} props */
export function Palette({ choices }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [wanted, setWanted] = useState('');
  const [at, setAt] = useState(0);
  useEffect(() => dialog.current?.showModal(), []);
  const found = useMemo(() => choices.map((c) => ({ c, points: wanted.trim() === '' ? 1 : Math.max(score(c.name.slice(0, longest), wanted), score(`${c.of ?? ''} ${c.name.slice(0, longest)}`, wanted) - 1) }))
    .filter(({ points }) => points > 0).sort((a, b) => b.points - a.points).slice(0, most).map(({ c }) => c), [choices, wanted]);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => document.getElementById(`choice-${chosen}`)?.scrollIntoView({ block: 'nearest' }), [chosen]);
  const close = () => dialog.current?.close(); // which gives the focus back
  /** @param {Choice | undefined} c */
  const take = (c) => {
    if (c === undefined) return;
    close();
    c.act();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to, or do" onClose={() => { paletteOpen.value = false; }} onClick={(e) => { if (e.target === dialog.current) close(); }}>
      <input type="text" role="combobox" aria-label="Go to, or do" aria-expanded="true" aria-controls="choices" aria-autocomplete="list" aria-activedescendant={chosen < 0 ? undefined : `choice-${chosen}`}
        autocomplete="off" spellcheck={false} placeholder="Go to, search, run…" value={wanted}
        onInput={(e) => {
          setWanted(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key];
          if (by !== undefined) setAt(Math.max(0, Math.min(found.length - 1, chosen + by)));
          else if (e.key === 'Enter' && !e.isComposing && !e.repeat) take(found[chosen]);
          else return;
          e.preventDefault();
        }} />
      <ul id="choices" role="listbox" aria-label="What there is">
        {found.map((c, i) => (
          <li key={`${c.kind} ${c.of} ${c.name}`} id={`choice-${i}`} role="option" aria-selected={i === chosen} onClick={() => take(c)}>
            <span class="meta">{c.kind}{c.of && ` of ${visible(c.of)}`}</span> <span dir="auto">{visible(c.name.slice(0, longest))}</span>
          </li>
        ))}
      </ul>
      <p role="status" class="meta">{found.length === 0 ? 'Nothing has this name.' : found.length === most ? `The best ${most}.` : ''}</p>
    </dialog>
  );
}
