// @ts-check
// The one stream of what happens in all processes, and how it begins anew when it ends.

import { batch } from '@preact/signals';

import { ApiError, credential, keep, login, watch, whoAmI } from './api.js';
import { heard } from './lent.js';
import { add, change, changeSite, close, entries, forget, link, lose, me, noteCall, replaceSites, settled } from './store.js';
import { auditChanged, pagesChanged } from './pages.js';
import { parseExactly } from './text.js';
import { endedBy } from './words.js';

const begun = 'pagetools.begun';
const lost = 2000; // milliseconds until the person hears of it
const waits = [500, 1000, 2000, 4000, 8000];
let failed = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;
let running = false;
let ends = 0; // when the stream ended; 0 while it runs
let last = ''; // the id of the last event: what came after it comes again

/** Reads the stream until it ends, and again. */
export async function run() {
  clearTimeout(next);
  if (running) return;
  running = true;
  let why = 'The connection ended.';
  try {
    await login();
    if (credential() === '') keep(await borrowed());
    if (credential() === '') {
      askCredential('Run "pagetools console" for a link, or give the credential.');
      return;
    }
    if (me.value === undefined) {
      me.value = await whoAmI();
      begin(me.value.start);
    }
    await watch(last, {
      began() {
        failed = ends = 0;
        if (last !== '') live();
      },
      events(all) {
        batch(() => all.forEach((e) => take(e.name, e.data)));
        if (all.length === 0) return;
        last = all[all.length - 1].id;
        live();
      },
    });
  } catch (e) {
    if (e instanceof ApiError && (e.status === 401 || e.status === 403)) {
      askCredential(e.message);
      return;
    }
    why = e instanceof ApiError ? `${e.message} (${[e.code, e.request && `request ${e.request}`].filter(Boolean).join(', ')})` : 'pagetools does not answer.';
  } finally {
    running = false;
  }
  const wait = waits[Math.min(failed++, waits.length - 1)] * (0.8 + 0.4 * Math.random());
  const again = Date.now() + wait;
  if (link.value.state === 'offline') link.value = { ...link.value, why, again };
  else {
    const since = ends ||= Date.now();
    const tell = () => { if (ends === since) link.value = { state: 'offline', why, since, again }; };
    setTimeout(tell, link.value.state === 'live' ? lost : 0); // a connection that is soon back is not worth a word
  }
  next = setTimeout(run, wait);
}

/** Goes where a person begins who came without a place. @param {string} start */
function begin(start) {
  if (!start.startsWith('/') || location.hash !== '' || sessionStorage.getItem(begun) !== null) return;
  sessionStorage.setItem(begun, 'yes');
  location.replace(`#${start}`);
}

function live() {
  if (link.value.state !== 'live') link.value = { state: 'live', why: '', since: Date.now(), again: 0 };
}

/**
 * Takes an event; what they are is in doc.go of transport/console.
 * @param {string} name @param {string} data
 */
function take(name, data) {
  const it = JSON.parse(data);
  for (const hear of heard) hear(name, it);
  switch (name) {
    case 'snapshot': {
      const open = parseExactly(data).questions;
      const ids = new Set(open.map((/** @type {{id: string}} */ q) => q.id));
      for (const { q } of entries.value.values()) if (q.node === it.node && !ids.has(q.id)) close(q.id);
      open.forEach(add);
      replaceSites(it.node, it.sites);
      settled.value = true;
      pagesChanged.value++;
      break;
    }
    case 'question.opened': add(parseExactly(data)); break;
    case 'question.changed': change(parseExactly(data)); break;
    case 'question.closed': {
      const q = entries.value.get(it.id)?.q;
      close(it.id, q === undefined || it.answeredBy === '' ? undefined : endedBy(q, it));
      break;
    }
    case 'tools': changeSite(it); break;
    case 'call.started': case 'call.stage': case 'call.ended': noteCall(it); break;
    case 'session.opened': case 'session.closed': case 'browser': pagesChanged.value++; break;
    case 'audit': auditChanged.value++; break;
    case 'node':
      pagesChanged.value++;
      for (const { q } of entries.value.values()) if (q.node === it.node) lose(q.id);
      replaceSites(it.node, []);
      break;
    default: // no screen shows it
  }
}

/** @param {string} why */
function askCredential(why) {
  ends = 0;
  last = '';
  forget();
  link.value = { state: 'login', why, since: Date.now(), again: 0 };
}

/** Tabs of this page lend each other their login by it. */
const tabs = new BroadcastChannel('pagetools.login');
const asks = 'login?';
const lends = 200; // milliseconds in which another tab answers

tabs.addEventListener('message', ({ data }) => {
  if (data === asks && me.value?.login && link.value.state !== 'login') tabs.postMessage({ login: credential() }); // of a configured credential there is one copy
});

/** The login of another tab; '' where there is none. @returns {Promise<string>} */
function borrowed() {
  return new Promise((found) => {
    const gone = new AbortController();
    /** @param {string} login */
    const end = (login) => {
      gone.abort();
      found(login);
    };
    tabs.addEventListener('message', ({ data }) => { if (typeof data?.login === 'string') end(data.login); }, { signal: gone.signal });
    tabs.postMessage(asks);
    setTimeout(end, lends, '');
  });
}

/** @param {string} token */
export function enter(token) {
  keep(token);
  link.value = { state: 'loading', why: '', since: Date.now(), again: 0 };
  run();
}

addEventListener('online', run);
document.addEventListener('visibilitychange', () => { if (!document.hidden && link.value.state === 'offline') run(); });
