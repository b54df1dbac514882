// @ts-check
// The operators' page: the frame around its screens.

import { effect, signal } from '@preact/signals';
import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { audit } from './api-audit.js';
import './keys.js';
import { auditChanged } from './pages.js';
import { place } from './route.js';
import { Inbox, summary } from './screens/inbox.jsx';
import { acting, entries, focusNext, link, me, news, now, opened, order, settled, unfold, waiting } from './store.js';
import { enter, run } from './stream.js';
import { visible } from './text.js';
import { useKeptFocus, useLeftFocus } from './ui/focus.js';
import { Help } from './ui/help.jsx';
import { later } from './ui/later.jsx';
import { tellOf } from './ui/notify.jsx';
import { helpOpen, paletteOpen } from './ui/open.js';
import { Theme } from './ui/theme.jsx';
import { left } from './words.js';

/** Each screen is one file: its name in the address, its name for people, and its component. The first is there at once. */
const screens = [
  { name: 'inbox', title: 'Inbox', Screen: Inbox },
  { name: 'sites', title: 'Sites', Screen: later('Sites', 'Sites') },
  { name: 'calls', title: 'Calls', Screen: later('Calls', 'Calls') },
  { name: 'live', title: 'Live', Screen: later('Live', 'Live') },
  { name: 'sessions', title: 'Sessions', Screen: later('Sessions', 'Sessions') },
  { name: 'policy', title: 'Policy', Screen: later('Policy', 'Policy') },
  { name: 'audit', title: 'Audit', Screen: later('Audit', 'Audit') },
  { name: 'clients', title: 'Clients', Screen: later('Clients', 'Clients') },
];

/** Whether all processes can write what the audit has; undefined is not known, or not for this person. @type {import('@preact/signals').Signal<boolean | undefined>} */
const writes = signal(/** @type {boolean | undefined} */ (undefined));

/** Whether a narrow window shows all screens to go to. */
const more = signal(false);

const Anywhere = later('Anywhere');

function App() {
  const { screen } = place.value, { state } = link.value;
  const { Screen, name } = screens.find((s) => s.name === screen) ?? screens[0];
  useKeptFocus('main');
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => {
        e.preventDefault();
        document.getElementById('main')?.focus();
      }}>Go to the content</a>
      <header>
        <strong class="brand">pagetools</strong>
        {me.value && <span class="meta node">node {visible(me.value.node)}</span>}
        <button type="button" class="anywhere" aria-keyshortcuts="Control+K" onClick={() => { paletteOpen.value = true; }}>Go to, run… <kbd>Ctrl+K</kbd></button>
        <Connection />
        <Theme />
        <button type="button" class="plain" aria-label="Help: the keys of this page" onClick={() => { helpOpen.value = true; }}>?</button>
      </header>
      <nav aria-label="Screens" class={more.value ? 'all' : ''}>
        {screens.map((s, i) => (
          <a key={s.name} href={`#/${s.name}`} class={i < 3 || s.name === name ? '' : 'rest'} aria-current={s.name === name ? 'page' : undefined} onClick={() => { more.value = false; }}>
            {s.title}<Mark of={s.name} />
          </a>
        ))}
        <button type="button" class="plain more" aria-expanded={more.value} onClick={() => { more.value = !more.value; }}>{more.value ? 'Less' : 'More'}</button>
      </nav>
      <main id="main" tabIndex={-1} class={state === 'offline' ? 'dimmed' : ''}>
        {state === 'login' ? <Login /> : <>{name !== 'inbox' && <Waits />}{state === 'offline' && <Offline />}<Screen /></>}
      </main>
      <footer>{state === 'live' && status()}</footer>
      <Help />
      {paletteOpen.value && state !== 'login' && <Anywhere screens={screens} />}
    </>
  );
}

/** What is to know of a screen before anybody goes there. @param {{of: string}} props */
function Mark({ of }) {
  const n = of === 'inbox' ? waiting.value : of === 'live' ? acting.value : 0;
  if (n > 0) return <> <span class="count">{n}</span></>;
  if (of !== 'audit' || writes.value === undefined) return null;
  return <> <span class={writes.value ? '' : 'problem'} aria-hidden="true">{writes.value ? '✓' : '✕'}</span><span class="visually-hidden">{writes.value ? ', all records are written' : ', not all records can be written'}</span></>;
}

/** What waits, and until when. */
function status() {
  const first = Math.min(...[...entries.value.values()].filter((e) => e.over === undefined).map(({ q }) => Date.parse(q.expiresAt)));
  return Number.isFinite(first) ? `${summary().replace('.', '')}, the first until ${new Date(first).toLocaleTimeString()}` : summary();
}

function Connection() {
  const words = { loading: '◌ connecting', live: '● live', offline: '✕ not connected', login: '◌ not logged in' };
  return <span>{words[link.value.state]}</span>;
}

/** One line on every other screen while a question is open. */
function Waits() {
  const q = order.value.map((id) => entries.value.get(id)).find((e) => e && e.over === undefined)?.q;
  if (!q) return null;
  return <p class="waits">A question waits, {left(Date.parse(q.expiresAt) - now.value)} left: <span dir="auto">{visible(q.title)}</span> <a href={`#/inbox/${q.id}`} onClick={() => { focusNext.value = 'card'; }}>Open</a></p>;
}

function Offline() {
  const { why, since, again } = link.value;
  useLeftFocus('.offline');
  const seconds = Math.max(0, Math.ceil((again - now.value) / 1000));
  return (
    <p class="offline" role="alert">
      Not connected since {new Date(since).toLocaleTimeString()}: {visible(why)} <span aria-hidden="true">Trying again{seconds > 0 ? ` in ${seconds} s` : ''}.</span> <button type="button" onClick={run}>Try again</button>
    </p>
  );
}

function Login() {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  return (
    <form class="login" onSubmit={(e) => {
      e.preventDefault();
      document.getElementById('main')?.focus();
      enter(field.current?.value.trim() ?? '');
    }}>
      <h1>Log in</h1>
      <p role="alert">{visible(link.value.why)}</p>
      <label for="credential">Credential: <code>pagetools console</code> opens this page with it, and <code>pagetools serve</code> prints it</label>
      <input id="credential" ref={field} type="password" autocomplete="off" spellcheck={false} required />
      <button class="primary">Open</button>
    </form>
  );
}

/** The one region that is read aloud: at most every two seconds, and once for each question that is about to expire. */
function announce() {
  const region = document.getElementById('announced');
  let last = '';
  const warned = new Set();
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const rest = () => { timer = clearInterval(timer); }; // a page where nothing waits is not woken
  const say = () => {
    if (region === null) return;
    if (link.value.state !== 'live') {
      region.textContent = last = '';
      rest();
      return;
    }
    let text = summary();
    for (const { q, over } of entries.value.values()) {
      if (over !== undefined || warned.has(q.id) || Date.parse(q.expiresAt) - Date.now() > 30_000) continue;
      warned.add(q.id);
      text = `A question expires in 30 seconds. ${text}`;
    }
    if (news.value.length > 0) {
      region.textContent = `${visible(news.value.join(' '))} ${text === last ? '' : text}`;
      news.value = [];
      last = text;
      return;
    }
    if (text !== last) region.textContent = last = text;
    else if (entries.value.size === 0) rest();
  };
  effect(() => {
    void [link.value, entries.value, news.value, summary()];
    timer ??= setInterval(say, 2000);
  });
}

effect(() => {
  const n = waiting.value;
  const { title } = screens.find((s) => s.name === place.value.screen) ?? screens[0];
  document.title = `${n === 0 ? '' : `(${n}) `}pagetools: ${title.toLowerCase()}`;
});
effect(() => {
  if (auditChanged.value < 0 || link.value.state !== 'live' || !me.value || me.value.sites) return;
  audit().then(({ kept, writers }) => { writes.value = kept ? writers.every((w) => w.healthy) : undefined; }, () => { writes.value = undefined; });
});
effect(() => {
  const { screen, rest } = place.value;
  if (screen === 'inbox' && rest[0]) {
    if (settled.value) unfold(rest[0]);
    opened.value = rest[0];
  }
});

const root = /** @type {HTMLElement} */ (document.getElementById('app'));
render(<App />, root);
announce();
tellOf(waiting);
run();
