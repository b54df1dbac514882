// @ts-check
// Says what a person sees of the elements that match a selector; with selected, what they selected, if anything. It runs in a world of its own, whose functions no page can change.

import { findAll } from '../aim/deep.js';

const most = 65536;

look = (selector, selected = false) => {
  const all = findAll(selector);
  const first = all[0];
  if (first === undefined) return JSON.stringify({ text: '', value: '', count: 0, visible: false });
  const chosen = selected ? String(getSelection() ?? '') : '';
  const text = chosen || (first instanceof HTMLElement ? first.innerText : first.textContent ?? '');
  const value = 'value' in first && typeof first.value === 'string' ? first.value : '';
  return JSON.stringify({
    text: text.slice(0, most),
    value: value.slice(0, most),
    count: all.length,
    visible: first.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
  });
};
