// @ts-check
// The clients that people let in, such as claude.ai, and a button that ends each.

import { ApiError, connections, disconnect } from './api.js';
import { byId, make, passFocus } from './dom.js';
import { visible } from './text.js';

/** @typedef {import('./api.js').Connection} Connection */

const list = byId('connections');
const problem = byId('connections-problem');

/** Shows who is let in now. */
export async function showConnections() {
  try {
    const all = await connections();
    list.replaceChildren(...all.map(item));
    byId('let-in').hidden = all.length === 0;
    problem.hidden = true;
  } catch (e) {
    if (e instanceof ApiError && (e.status === 401 || e.status === 403)) return; // it is for some sites only, or ended
    tell(e);
  }
}

/** @param {unknown} e */
function tell(e) {
  problem.textContent = e instanceof ApiError ? visible(e.message) : 'pagetools does not answer.';
  problem.hidden = false;
}

/** @param {string} time */
const shown = (time) => make('time', { dateTime: time, title: time }, new Date(time).toLocaleString());

/** @param {string} address */
const host = (address) => (URL.canParse(address) && new URL(address).host) || address;

/** @param {Connection} c */
function item(c) {
  const end = make('button', { type: 'button' }, `Revoke ${c.id}`);
  const element = make('li', {}, make('strong', {}, visible(host(c.redirectUri))), ` calls itself “${visible(c.name)}”, for ${visible(c.person)}, since `,
    shown(c.since), ', last used ', shown(c.lastUsed), ' ', end);
  end.addEventListener('click', async () => {
    end.setAttribute('aria-disabled', 'true'); // a disabled button would lose the focus
    try {
      await disconnect(c.id);
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 404)) { // another hand was faster
        end.removeAttribute('aria-disabled');
        tell(e);
        return;
      }
    }
    passFocus(element, element.nextElementSibling?.querySelector('button') ?? element.previousElementSibling?.querySelector('button') ?? byId('waiting'));
    element.remove();
    byId('let-in').hidden = list.childElementCount === 0;
  });
  return element;
}
