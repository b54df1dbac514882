// @ts-check
// What a tool returned: text, pictures and files, as its page made them.

import { useEffect, useRef, useState } from 'preact/hooks';

import { savedFile } from '../api.js';
import { parseExactly, visible } from '../text.js';
import { told } from '../ui/load.jsx';
import { Name, size } from '../ui/said.jsx';

const most = 256 * 1024; // characters of a result that are drawn whole
const first = 64 * 1024; // and of a longer one
const mostPictures = 4;
const pictureBytes = 5 << 20;
const picturePoints = 40_000_000; // of a picture that is decoded
const pictureWidth = 800; // CSS pixels

/** The pictures that are shown, and the ends of their names. @type {Record<string, string>} */
const pictures = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp', 'image/gif': 'gif' };
/** @type {Record<string, string>} */
const ends = { ...pictures, 'text/plain': 'txt', 'text/csv': 'csv', 'application/json': 'json', 'application/pdf': 'pdf', 'application/zip': 'zip' };

/** @typedef {NonNullable<import('../api.js').MadeCall['files']>[number]} File */

/** @param {{text: string, of: import('../api.js').MadeCall}} props text is JSON, and of is its call */
export function Result({ text, of: { tool, node, files = [] } }) {
  const [json, setJSON] = useState(false);
  let words = text;
  if (!json && text.startsWith('"')) words = JSON.parse(text);
  else if (!json && text.length <= most) words = pretty(text);
  const cut = words.length > most;
  return (
    <>
      <p class="bar-of">
        <button type="button" aria-pressed={!json} onClick={() => setJSON(false)}>Rendered</button>
        <button type="button" aria-pressed={json} onClick={() => setJSON(true)}>JSON</button>
        <button type="button" onClick={() => save(new Blob([text]), tool, 'json')}>Download</button>
      </p>
      <p class="meta">The page returned this{cut && `; the first 64 kB of ${size(words)} are shown`}:</p>
      <pre class="returned" tabIndex={0} dir="auto">{visible(cut ? words.slice(0, first).toWellFormed() : words)}</pre>
      {!json && picturesOf(text).map((one, i) => <Picture key={i} of={one} />)}
      {files.length > 0 && <Files all={files} tool={tool} node={node} />}
    </>
  );
}

/** JSON with a member a line; numbers stay as they are. @param {string} text */
function pretty(text) {
  return 'rawJSON' in JSON ? JSON.stringify(parseExactly(text), null, 2) : text;
}

/** The pictures among the blocks of a result. @param {string} text @returns {Blob[]} */
function picturesOf(text) {
  if (!text.includes('"image"')) return [];
  const { content } = JSON.parse(text) ?? {};
  if (!Array.isArray(content)) return [];
  return content.filter((b) => b?.type === 'image' && Object.hasOwn(pictures, b.mimeType) && typeof b.data === 'string' && b.data.length < pictureBytes * 4 / 3).slice(0, mostPictures).flatMap((b) => {
    try {
      return [new Blob([Uint8Array.from(atob(b.data), (c) => c.charCodeAt(0))], { type: b.mimeType })];
    } catch {
      return []; // not base64
    }
  });
}

/** A picture, drawn: no element has its bytes. @param {{of: Blob, what?: string}} props */
export function Picture({ of, what = 'A picture of the page' }) {
  const at = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [said, setSaid] = useState('');
  useEffect(() => {
    const image = new Image(), address = URL.createObjectURL(of);
    image.onload = () => {
      const { naturalWidth: w, naturalHeight: h } = image, canvas = at.current;
      if (canvas && w * h > 0 && w * h <= picturePoints) { // it is decoded when it is drawn
        const scale = Math.min(1, pictureWidth / w);
        canvas.width = Math.max(1, Math.round(w * scale));
        canvas.height = Math.max(1, Math.round(h * scale));
        canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
      }
      setSaid(`${what}, ${w} × ${h}${w * h > picturePoints ? ': too large to show' : ''}`);
      URL.revokeObjectURL(address);
    };
    image.onerror = () => {
      setSaid(`${what}: it cannot be shown`);
      URL.revokeObjectURL(address);
    };
    image.src = address;
  }, []);
  return <figure><canvas ref={at} class="picture" width={1} height={1} role="img" aria-label={said || what} /><figcaption>{said}</figcaption></figure>;
}

/** What the page saved. @param {{all: File[], tool: string, node: string}} props */
function Files({ all, tool, node }) {
  const [said, setSaid] = useState('');
  return (
    <>
      <p class="meta">The page saved:</p>
      <ul>
        {all.map((f, i) => (
          <li key={i}>
            <Name text={f.name} />{f.bytes !== undefined && ` ${f.bytes} bytes, ${visible(f.type)}`}{f.state && ` was not kept: ${f.state}`}{f.id && (
              <> <button type="button" onClick={() => savedFile(f.id ?? '', node).then((blob) => save(blob, `${tool}-${i + 1}`, ends[f.type] ?? 'bin'), (e) => setSaid(told(e)))}>Download</button></>
            )}
          </li>
        ))}
      </ul>
      <p role="status">{said}</p>
    </>
  );
}

/** Saves bytes under a name of ours. @param {Blob} bytes @param {string} name @param {string} end */
export function save(bytes, name, end) {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  a.download = `pagetools-${name.replace(/[^a-z0-9_-]/gi, '_').slice(0, 64)}.${end}`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}
