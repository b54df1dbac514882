// @ts-check
// The stream of questions, and how it begins anew when it ends.

import { ApiError, credential, keep, login, watch } from './api.js';
import { add, close, entries, forget, link } from './store.js';

const lost = 2000; // milliseconds until the person hears of it
const others = 2000; // milliseconds until the questions of other processes are here
const waits = [500, 1000, 2000, 4000, 8000];
let failed = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let next;
let running = false;
let ends = 0; // when the stream ended; 0 while it runs

/** Reads the stream until it ends, and again. */
export async function run() {
  clearTimeout(next);
  if (running) return;
  running = true;
  let why = 'The connection ended.';
  const fresh = new Set();
  try {
    await login();
    if (credential() === '') {
      askCredential('Run "pagetools console" for a link, or give the credential.');
      return;
    }
    await watch({
      began() {
        failed = ends = 0;
        link.value = { state: 'live', why: '', since: Date.now(), again: 0 };
        setTimeout(() => {
          for (const id of running ? entries.value.keys() : []) if (!fresh.has(id)) close(id);
        }, others);
      },
      opened(q) {
        fresh.add(q.id);
        add(q);
      },
      closed(id) {
        close(id);
      },
      ready() {},
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

/** @param {string} why */
function askCredential(why) {
  ends = 0;
  forget();
  link.value = { state: 'login', why, since: Date.now(), again: 0 };
}

/** @param {string} token */
export function enter(token) {
  keep(token);
  link.value = { state: 'loading', why: '', since: Date.now(), again: 0 };
  run();
}

addEventListener('online', run);
document.addEventListener('visibilitychange', () => { if (!document.hidden && link.value.state === 'offline') run(); });
