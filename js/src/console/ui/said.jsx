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

/** An address, with the domain that somebody registered in bold, or its whole host. It is no link: its page is a stranger's. @param {{of: string, domain: string | undefined}} props domain is not known of older processes */
export function Address({ of, domain = '' }) {
  if (!URL.canParse(of) || !/^https?:$/.test(new URL(of).protocol)) return <code>{visible(of)}</code>;
  const { protocol, host, hostname, port, pathname, search } = new URL(of);
  const rest = of.endsWith(host) ? '' : pathname + search, known = domain !== '' && (hostname === domain || hostname.endsWith(`.${domain}`));
  return <code dir="ltr" title={visible(of)}>{protocol}{'//'}{known ? <>{hostname.slice(0, -domain.length)}<strong>{domain}</strong>{port && `:${port}`}</> : <strong>{host}</strong>}{visible(rest.length > 80 ? `${rest.slice(0, 80).toWellFormed()}…` : rest)}</code>;
}
