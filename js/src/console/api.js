// @ts-check
// The API of transport/console, with the operator's credential. What it says is in doc.go there.

import { parseExactly } from './text.js';

/** @typedef {{id: string, kind: string, title: string, detail: string, schema?: {default?: unknown}, tool: string, input: unknown, origin: string, expiresAt: string,
 *   hints?: string[], frame?: string, session?: string, page?: {url?: string, title?: string, config?: unknown},
 *   form?: boolean, secrets?: string[], operation?: {method: string, url: string, api?: string, cost?: string}, adapter?: {name: string, version: string}}} Question */
/** @typedef {Question & {site: string, caller: string, since: string, always: boolean, picture: boolean}} OpenQuestion */

/** What went wrong, with the status of the reply; 0 when there was none. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const place = 'pagetools.credential';

/** The credential of this window: from the address, where it leaves no trace, or from before. */
export function credential() {
  const given = decodeURIComponent(location.hash.slice(1));
  if (given !== '') {
    keep(given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem(place) ?? '';
}

/** @param {string} text */
export function keep(text) {
  sessionStorage.setItem(place, text);
}

/** @param {string} path @param {RequestInit} [how] */
async function ask(path, how = {}) {
  const token = credential();
  const reply = await fetch(path, { ...how, cache: 'no-store', headers: { ...how.headers, ...(token === '' ? {} : { Authorization: `Bearer ${token}` }) } });
  if (!reply.ok) {
    const body = await reply.json().catch(() => ({}));
    throw new ApiError(reply.status, String(body?.error?.message ?? `The server answers ${reply.status}.`));
  }
  return reply;
}

/**
 * Gives an answer to a question.
 * @param {string} id @param {{ok: boolean, value?: unknown, always?: boolean}} answer
 */
export async function answer(id, answer) {
  await ask(`/api/questions/${encodeURIComponent(id)}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(answer) });
}

/**
 * Gives each question that opens to one function, and the id of each that closes to another, until the stream ends.
 * @param {{opened: (q: OpenQuestion) => void, closed: (id: string) => void, ready: () => void}} to
 */
export async function watch(to) {
  const reply = await ask('/api/events');
  const reader = /** @type {ReadableStream<Uint8Array>} */ (reply.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = /** @type {string} */ (events.pop());
    for (const event of events) {
      const lines = event.split('\n');
      /** @param {string} name */
      const field = (name) => lines.find((l) => l.startsWith(name))?.slice(name.length);
      const data = parseExactly(field('data: ') ?? '{}');
      switch (field('event: ')) {
        case 'opened': to.opened(data); break;
        case 'closed': to.closed(data.id); break;
        case 'ready': to.ready(); break;
        default:
      }
    }
  }
}

/** Takes the credential that a link gives once; the link is in the address, and leaves no trace there. */
export async function login() {
  const code = /^#once=(.+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, '', location.pathname);
  const reply = await ask('/api/login', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }) });
  keep((await reply.json()).token);
}

/** @typedef {{id: string, person: string, name: string, redirectUri: string, since: string, lastUsed: string}} Connection */

/**
 * The clients that people let in.
 * @returns {Promise<Connection[]>}
 */
export async function connections() {
  return (await (await ask('/api/connections')).json()).connections;
}

/**
 * Ends a client that was let in.
 * @param {string} id
 */
export async function disconnect(id) {
  await ask(`/api/connections/${encodeURIComponent(id)}`, { method: 'DELETE' });
}

/**
 * Opens the live view of the page that asks.
 * @param {string} id
 */
export function live(id) {
  const token = btoa(String.fromCharCode(...new TextEncoder().encode(credential()))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const url = new URL(`/api/questions/${encodeURIComponent(id)}/live`, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, ['pagetools.live.v1', `pagetools.bearer.${token}`]);
  socket.binaryType = 'arraybuffer';
  return socket;
}
