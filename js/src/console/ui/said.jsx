// @ts-check
// Words of strangers: text, marked as theirs, and cut until a person asks for all of it.

import { useState } from 'preact/hooks';

import { visible } from '../text.js';

const most = 600; // characters
const lines = 6;

/** @param {{by: string, text: string}} props by is our own description of who says it */
export function Said({ by, text }) {
  const [all, setAll] = useState(false);
  let cut = text.split('\n').slice(0, lines).join('\n');
  if (cut.length > most) cut = cut.slice(0, most).toWellFormed();
  return (
    <figure class="said">
      <figcaption>{by}:</figcaption>
      <blockquote dir="auto" tabIndex={0}>{visible(all ? text : cut)}{!all && cut !== text && '…'}</blockquote>
      {cut !== text && <button type="button" class="plain" aria-expanded={all} onClick={() => setAll(!all)}>{all ? 'Show less' : `Show all (${size(text)})`}</button>}
    </figure>
  );
}

/** @param {string} text */
export const size = (text) => {
  const bytes = new TextEncoder().encode(text).length;
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
};

/** The name of a tool or a site: ours to repeat, and cut. @param {{text: string}} props */
export const Name = ({ text }) => <code dir="auto">{visible(text.length > 64 ? `${text.slice(0, 64).toWellFormed()}…` : text)}</code>;
