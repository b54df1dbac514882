// @ts-check
// The card: on it, a host of MCP Apps shows a person what a call of pagetools waits for.

import { make } from '../console/dom.js';
import { ask, hear, tell } from './host.js';
import { follow } from './question.js';

/** @typedef {import('./host.js').Members} Members */

const main = /** @type {HTMLElement} */ (document.getElementById('card'));
const link = document.documentElement.dataset.link ?? '';
const most = 20; // calls that are shown at once

/** @type {ReturnType<typeof follow>[]} */
let shown = [];

const stop = () => {
  for (const one of shown) one.stop();
  shown = [];
};

/** @param {Members} result of the tool that this card belongs to */
function result(result) {
  const { ticket, tickets } = result._meta?.['pagetools/card'] ?? {};
  const all = (Array.isArray(tickets) ? tickets : [ticket]).filter((t) => typeof t === 'string');
  stop();
  shown = all.slice(0, most).map((t) => follow(t, link));
  if (shown.length > 0) main.replaceChildren(...shown.map((s) => s.element));
  else main.replaceChildren(make('p', { className: 'line', role: 'status' }, 'Nothing waits for you here.'));
}

/** The variables of hosts that the style knows. */
const known = /^--(color-(background|text|border)-(primary|secondary|danger)|font-(sans|mono)|border-radius-md)$/;

/** @param {Members} context */
function context({ theme, styles, displayMode, availableDisplayModes }) {
  const root = document.documentElement;
  if (typeof displayMode === 'string') root.dataset.mode = displayMode;
  if (Array.isArray(availableDisplayModes)) root.dataset.larger = String(availableDisplayModes.includes('fullscreen'));
  if (theme === 'light' || theme === 'dark') root.style.colorScheme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (known.test(name) && typeof value === 'string') root.style.setProperty(name, value);
  }
}

hear({
  ping: () => ({}),
  'ui/resource-teardown': () => {
    stop();
    return {};
  },
  'ui/notifications/tool-result': result,
  'ui/notifications/tool-cancelled': () => result({}),
  'ui/notifications/host-context-changed': context,
});

new ResizeObserver(() => {
  tell('ui/notifications/size-changed', { height: Math.ceil(main.getBoundingClientRect().height) });
}).observe(main);

ask('ui/initialize', {
  protocolVersion: '2026-01-26', appInfo: { name: 'pagetools', version: '1' }, appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
}).then((host) => {
  context(host.hostContext ?? {});
  tell('ui/notifications/initialized', {});
}, () => {}); // a host that refuses draws nothing

card = true;
