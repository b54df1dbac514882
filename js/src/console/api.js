// @ts-check
// The API of transport/console, with the operator's credential. What it says is in doc.go there.

import { member, parse, plain, print } from './form/json.js';
import { listed } from './form/schema.js';

/** @typedef {{id: string, kind: string, title: string, detail: string, schema?: {default?: unknown}, tool: string, input: unknown, origin: string, domain?: string, expiresAt: string,
 *   hints?: string[], frame?: string, session?: string, page?: {url?: string, title?: string, config?: unknown},
 *   form?: boolean, secrets?: string[], operation?: {method: string, url: string, api?: string, cost?: string}, adapter?: {name: string, version: string}}} Question */
/** @typedef {Question & {node: string, site: string, caller: string, since: string, always: boolean, picture: boolean, edit: boolean, why?: Wanted[], firstSince?: string}} OpenQuestion */
/** @typedef {{name: string, level: string, reason: string, decided: boolean}} Wanted what a layer of the policy wanted, and why, in our words */

/** What went wrong, with the status of the reply; 0 when there was none. */
export class ApiError extends Error {
  /** What does not fit in a value that was sent. @type {{pointer: string, message: string}[]} */
  errors = [];

  /** @param {number} status @param {string} message @param {string} code @param {string} request its id */
  constructor(status, message, code = '', request = '') {
    super(message);
    this.status = status;
    this.code = code;
    this.request = request;
  }
}

const place = 'pagetools.credential';

/** The credential of this window: from the address, where it leaves no trace, or from before. */
export function credential() {
  const given = decodeURIComponent(location.hash.slice(1));
  if (given !== '' && !given.startsWith('/')) { // a place in this page begins with a slash
    keep(given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem(place) ?? '';
}

/** @param {string} text */
export function keep(text) {
  sessionStorage.setItem(place, text);
}

/** Makes a request with the credential; what is not a success is an ApiError. @param {string} path @param {RequestInit} [how] */
export async function ask(path, how = {}) {
  const token = credential();
  const reply = await fetch(path, { ...how, cache: 'no-store', headers: { ...how.headers, ...(token === '' ? {} : { Authorization: `Bearer ${token}` }) } });
  if (!reply.ok) {
    const body = await reply.json().catch(() => ({}));
    const error = new ApiError(reply.status, String(body?.error?.message ?? `The server answers ${reply.status}.`), String(body?.error?.code ?? ''), reply.headers.get('X-Request-Id') ?? '');
    error.errors = body?.error?.details?.errors ?? [];
    throw error;
  }
  return reply;
}

/**
 * Gives an answer to a question.
 * @param {string} id @param {{ok: boolean, value?: unknown, always?: boolean, reason?: string}} answer @param {string} [input] JSON: the arguments, where they are others
 */
export async function answer(id, answer, input) {
  const body = JSON.stringify(answer);
  await ask(`/api/questions/${encodeURIComponent(id)}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: input === undefined ? body : `${body.slice(0, -1)},"input":${input}}` });
}

/** The text of the schema of a question's arguments; undefined when they cannot be changed any more. @param {string} id */
export async function argumentsSchema(id) {
  const schema = member(parse(await (await ask(`/api/questions/${encodeURIComponent(id)}`)).text()).node, 'inputSchema');
  return schema && print(schema);
}

/**
 * Gives the events of the one stream to a function as they come, several that came together at once, until it ends.
 * @param {string} since the id of the last event that came; '' for none
 * @param {{began: () => void, events: (all: {name: string, data: string, id: string}[]) => void}} to
 */
export async function watch(since, to) {
  const reply = await ask('/api/events', { headers: since === '' ? {} : { 'Last-Event-ID': since } });
  to.began();
  const reader = /** @type {ReadableStream<Uint8Array>} */ (reply.body).pipeThrough(new TextDecoderStream()).getReader();
  /** @type {string[]} */
  let parts = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = value.split('\n\n');
    if (events.length > 1 || value.startsWith('\n')) { // else it goes on: a long one is put together once
      const whole = [...parts, value].join('').split('\n\n');
      parts = [/** @type {string} */ (whole.pop())];
      to.events(whole.map((event) => {
        const lines = event.split('\n');
        /** @param {string} name */
        const field = (name) => lines.find((l) => l.startsWith(name))?.slice(name.length) ?? '';
        return { name: field('event: '), data: field('data: '), id: field('id: ') };
      }).filter((e) => e.name !== ''));
    } else {
      parts.push(value);
    }
  }
}

/** @typedef {{node: string, name: string, target: string, origin: string, domain?: string, kind: string, state: string, version: string, tools: number, findings: number, engine: string,
 *   endpoint: string, token: boolean, error?: string}} Site */
/** @typedef {{rule: string, tool?: string, message: string, refused: boolean}} Finding */
/** @typedef {{level: string, reason: string, readsOnly: boolean, destructive: boolean, untrusted: boolean}} Terms */
/** @typedef {{node: string, name: string, title: string, description: string, schema: string, annotations: {consequentialHint?: unknown} | null, digest: string, origin: string, domain?: string, frame?: string, terms: Terms, findings: Finding[]}} Tool schema is its text */

/** @param {string} site @param {string} node @param {string} what @param {Record<string, string>} [query] */
const ofSite = (site, node, what, query = {}) => `/api/sites/${encodeURIComponent(site)}/${what}?${new URLSearchParams({ ...(node === '' ? {} : { node }), ...query })}`;

/**
 * The tools of a site as they are known now, by name.
 * @param {string} site @param {string} node the process that serves it; '' for the one that serves this page
 * @returns {Promise<Tool[]>}
 */
export async function siteTools(site, node) {
  /** @type {Tool[]} */
  const all = [];
  for (let before = ''; ;) {
    const text = await (await ask(ofSite(site, node, 'tools', { limit: '1000', ...(before === '' ? {} : { before }) }))).text();
    const list = parse(text).node;
    for (const node of listed(member(list, 'items'))) {
      const schema = member(node, 'schema');
      all.push({ .../** @type {any} */ (plain(node)), schema: schema === undefined ? '{}' : print(schema) });
    }
    const next = member(list, 'next');
    if (next?.kind !== 'string') return all;
    before = next.value;
  }
}

/**
 * The schema of what a person may set for a call, as text.
 * @param {string} site @param {string} node
 * @returns {Promise<string>}
 */
export async function siteConfig(site, node) {
  const schema = member(parse(await (await ask(ofSite(site, node, 'config'))).text()).node, 'schema');
  return schema === undefined ? '{}' : print(schema);
}

/**
 * What the author of a site should know of it.
 * @param {string} site @param {string} node
 * @returns {Promise<Finding[]>}
 */
export async function siteFindings(site, node) {
  return (await (await ask(ofSite(site, node, 'findings', { limit: '1000' }))).json()).items;
}

/**
 * What does not fit in arguments. Nothing reaches the page of the site.
 * @param {string} site @param {string} node @param {string} tool @param {string} input JSON
 * @returns {Promise<{pointer: string, message: string}[]>}
 */
export async function validate(site, node, tool, input) {
  const reply = await ask(ofSite(site, node, 'validate'), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: `{"tool":${JSON.stringify(tool)},"input":${input}}` });
  return (await reply.json()).errors;
}

/** @typedef {import('./calls/filter.js').Call & {kept: boolean, recorded: boolean, replayed?: string[], input?: string, result?: string, message?: string, files?: {id?: string, name: string, type: string, bytes?: number, url?: string}[]}} MadeCall input and result are their text */

/** @param {string} node */
const at = (node) => `?node=${encodeURIComponent(node)}`;

/**
 * Runs a tool. Returns the id of the call.
 * @param {Site} site @param {Tool} tool @param {string} input JSON, as it is on the screen @param {{session: string, config: string, confirm: boolean, record: boolean, replays: string}} how confirm says that what is on the screen is this person's consent
 * @returns {Promise<string>}
 */
export async function makeCall(site, tool, input, { session, config, confirm, record, replays }) {
  const asks = confirm && (tool.terms.level === 'ask' || tool.terms.level === 'ask-once');
  const digest = asks && crypto.subtle ? hex(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(input)))) : '';
  const members = [
    `"site":${JSON.stringify(site.name)}`, `"tool":${JSON.stringify(tool.name)}`, `"input":${input}`, `"key":"${hex(crypto.getRandomValues(new Uint8Array(16)))}"`,
    ...(session === '' ? [] : [`"session":${JSON.stringify(session)}`]), ...(config === '' ? [] : [`"config":${config}`]), ...(record ? ['"record":true'] : []), ...(replays === '' ? [] : [`"replays":${JSON.stringify(replays)}`]),
    ...(digest === '' ? [] : [`"confirm":${JSON.stringify({ definition: tool.digest, arguments: digest, level: tool.terms.level })}`]),
  ];
  const reply = await ask(`/api/calls${at(site.node)}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: `{${members.join(',')}}` });
  return (await reply.json()).call;
}

/** @param {Uint8Array} bytes */
const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, '0')).join('');

/**
 * A call, with its arguments and what it came to where they are kept.
 * @param {string} id
 * @returns {Promise<MadeCall>}
 */
export async function madeCall(id) {
  const { node } = parse(await (await ask(`/api/calls/${encodeURIComponent(id)}`)).text());
  const made = /** @type {any} */ (plain(node));
  const text = (/** @type {'input' | 'result'} */ name) => {
    const value = member(node, name);
    return value === undefined || made[name] === null ? undefined : print(value);
  };
  return { ...made, input: text('input'), result: text('result'), message: made.error?.message };
}

/** What each process did in the last minutes. @returns {Promise<import('./calls/stats.js').Stats[]>} */
export async function callStats() {
  return (await (await ask('/api/stats?limit=1000')).json()).items;
}

/**
 * A part of the list of calls.
 * @param {string} q @param {string} before where it goes on; '' is its beginning
 * @returns {Promise<{items: import('./calls/filter.js').Call[], next: string | null, missing?: {node: string}[]}>}
 */
export async function callRecords(q, before) {
  return (await ask(`/api/calls?${new URLSearchParams({ q, limit: before === '' ? '200' : '1000', ...(before === '' ? {} : { before }) })}`)).json();
}

/** A file that a page saved in a call that this person made. @param {string} id @param {string} node the process of the call */
export async function savedFile(id, node) {
  return (await ask(`/files/${encodeURIComponent(id)}${at(node)}`)).blob();
}

/** Ends a call that this person made. @param {string} id @param {string} node its process */
export async function cancelCall(id, node) {
  await ask(`/api/calls/${encodeURIComponent(id)}/cancel${at(node)}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
}

/**
 * The sessions, browsers and pages of all processes.
 * @returns {Promise<{sessions: import('./pages.js').Session[], browsers: import('./pages.js').Browser[], pools: import('./pages.js').Pool[], missing: string[]}>}
 */
export async function pagesNow() {
  const [list, { items, pools, missing = [] }] = await Promise.all(['/api/sessions?limit=1000', '/api/browsers'].map(async (path) => (await ask(path)).json()));
  const late = [...(list.missing ?? []), ...missing].map((/** @type {{node: string}} */ m) => m.node);
  return { sessions: list.items, browsers: items, pools, missing: [...new Set(late)] };
}

/**
 * The nodes of the cluster, and what an operator should know of it.
 * @returns {Promise<{engine: {quorum: boolean}, nodes: {name: string, incarnation: string, state: string, leaseAgeMs: number, sessions: number, free: number, build: string}[], warnings: string[]}>}
 */
export async function clusterNow() {
  return (await ask('/api/cluster')).json();
}

/** Closes a session. @param {{node: string, id: string}} session @param {boolean} running whether calls that run in it end, too */
export async function closeSession({ node, id }, running) {
  await ask(`/api/sessions/${encodeURIComponent(id)}?${new URLSearchParams({ node, ...(running ? { running: 'end' } : {}) })}`, { method: 'DELETE' });
}

/** @typedef {{name: string, rights: string[], node: string, features: string[], login: string, start: string}} Me login is '' for a credential that was configured; start is the place to begin at */

/** Who uses the page. @returns {Promise<Me>} */
export async function whoAmI() {
  return (await ask('/api/me')).json();
}

let linkCode = ''; // until it was taken or refused

/**
 * Takes the credential that a link gives once; the link is in the address, and leaves no trace there. Where nobody
 * could say whether it counts, the next call tries it again.
 */
export async function login() {
  const given = /^#once=(.+)$/.exec(location.hash)?.[1];
  if (given !== undefined) {
    history.replaceState(null, '', location.pathname);
    linkCode = given;
  }
  if (linkCode === '') return;
  try {
    const reply = await ask('/api/login', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code: linkCode }) });
    keep((await reply.json()).token);
    linkCode = '';
  } catch (e) {
    if (e instanceof ApiError && e.status !== 503) linkCode = '';
    throw e;
  }
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

/** The page that asks, as it is now. @param {string} id of its question @returns {Promise<Blob>} a PNG */
export async function questionPicture(id) {
  return (await ask(`/api/questions/${encodeURIComponent(id)}/picture`)).blob();
}

/** The page of a session as it is now. @param {{node: string, id: string}} session @returns {Promise<Blob>} a PNG */
export async function sessionPicture({ node, id }) {
  return (await ask(`/api/sessions/${encodeURIComponent(id)}/picture?${new URLSearchParams({ node })}`)).blob();
}

/**
 * Opens the live view of a page.
 * @param {string} of the path of its question, or of its session @param {string} [node] the process that has it
 */
export function live(of, node) {
  const token = btoa(String.fromCharCode(...new TextEncoder().encode(credential()))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const url = new URL(`/api/${of}/live${node === undefined ? '' : `?${new URLSearchParams({ node })}`}`, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, ['pagetools.live.v1', `pagetools.bearer.${token}`]);
  socket.binaryType = 'arraybuffer';
  return socket;
}
