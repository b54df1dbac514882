// @ts-check
// Light or dark: as the system has it, or as a person wants it here.

import { effect, signal } from '@preact/signals';

const place = 'pagetools.theme';
const themes = ['system', 'light', 'dark'];
const chosen = signal(themes.includes(localStorage.getItem(place) ?? '') ? /** @type {string} */ (localStorage.getItem(place)) : 'system');

effect(() => {
  document.documentElement.dataset.theme = chosen.value;
});

/** Takes the next one. */
export function turn() {
  chosen.value = themes[(themes.indexOf(chosen.value) + 1) % themes.length] ?? 'system';
  localStorage.setItem(place, chosen.value);
}

export function Theme() {
  return (
    <button type="button" class="plain" onClick={turn}><span aria-hidden="true">◐</span> {chosen.value}<span class="visually-hidden"> theme</span></button>
  );
}
