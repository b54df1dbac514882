// @ts-check
// The filter of calls: a line with completion, and what it says in parts that can be taken away.

import { useState } from 'preact/hooks';

import { condition, keys, statuses, written } from '../calls/filter.js';
import { filter, query, shown } from '../calls/list.js';
import { visible } from '../text.js';

const most = 8; // completions

const examples = { status: statuses, duration: ['>500ms', '>5s'], waited: ['>1s', '>1m'], since: ['15m', '1h', '1d'], until: ['15m', '1h'] };

/** What may follow what is written. @param {string} q @returns {{word: string, q: string}[]} */
function completions(q) {
  const last = / $/.test(q) ? '' : written(q).at(-1) ?? '';
  const before = q.slice(0, q.length - last.length), dash = last.startsWith('-') ? '-' : '';
  const [, key, value] = /^-?([a-z]+):(.*)$/s.exec(last) ?? [];
  if (last === '' || last === '-') return [];
  if (key === undefined) {
    return keys.filter((k) => k.startsWith(last.slice(dash.length))).map((k) => ({ word: `${k}:`, q: `${before}${dash}${k}:` }));
  }
  const begun = value.replaceAll('"', '').toLowerCase();
  return [...valuesOf(key)].filter((v) => v.toLowerCase().startsWith(begun) && v.toLowerCase() !== begun).slice(0, most)
    .map((v) => ({ word: v, q: `${before}${dash}${condition(key, v)} ` }));
}

/** @param {string} key @returns {Iterable<string>} */
function valuesOf(key) {
  const given = /** @type {Record<string, string[]>} */ (examples)[key];
  if (given !== undefined) return given;
  const all = new Set(/** @type {string[]} */ ([]));
  for (const c of shown.peek()) {
    const value = key === 'code' ? c.reason || c.code : key === 'id' ? c.call : c[/** @type {'site'} */ (key)];
    if (value) all.add(value);
    if (all.size > 200) break;
  }
  return [...all].sort();
}

export function Filter() {
  const [chosen, setChosen] = useState(-1);
  const [wants, setWants] = useState(false);
  const q = query.value;
  const all = wants ? completions(q) : [];
  const take = (/** @type {string} */ to) => {
    filter(to);
    setChosen(-1);
    document.getElementById('calls-filter')?.focus();
  };
  return (
    <div class="filter-of">
      <label for="calls-filter">Filter</label>{' '}
      <input id="calls-filter" class="filter" type="text" role="combobox" autocomplete="off" spellcheck={false} placeholder="site:shop status:error duration:>500ms" value={q}
        aria-expanded={all.length > 0} aria-controls="calls-completions" aria-autocomplete="list" aria-activedescendant={chosen >= 0 && chosen < all.length ? `completion-${chosen}` : undefined}
        onInput={(e) => {
          setWants(true);
          setChosen(-1);
          filter(e.currentTarget.value);
        }}
        onBlur={() => setWants(false)}
        onKeyDown={(e) => {
          if (all.length === 0) return;
          if (e.key === 'ArrowDown') setChosen((chosen + 1) % all.length);
          else if (e.key === 'ArrowUp') setChosen((chosen + all.length) % all.length || all.length - 1);
          else if (e.key === 'Escape') setWants(false);
          else if (e.key === 'Enter' && chosen >= 0 && chosen < all.length) take(all[chosen].q);
          else return;
          e.preventDefault();
        }} />
      <ul id="calls-completions" class="completions" role="listbox" aria-label="Completions" hidden={all.length === 0}>
        {all.map((c, i) => <li key={c.word} id={`completion-${i}`} role="option" aria-selected={i === chosen} dir="auto" onMouseDown={(e) => {
          e.preventDefault(); // the line keeps the focus
          take(c.q);
        }}>{visible(c.word)}</li>)}
      </ul>
      <p class="chips">
        {written(q).map((word, i) => <button key={`${i} ${word}`} type="button" aria-label={`Remove ${visible(word)}`} onClick={() => take(written(q).filter((_, n) => n !== i).join(' '))}>{visible(word)} <span aria-hidden="true">✕</span></button>)}
      </p>
    </div>
  );
}
