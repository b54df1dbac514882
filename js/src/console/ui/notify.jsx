// @ts-check
// Notifications of the desktop: only for who turned them on, only while the page is not looked at, and in our words alone.

import { effect, signal } from '@preact/signals';
import { useState } from 'preact/hooks';

const place = 'pagetools.notify';
const ways = ['off', 'silent', 'with sound'];
const way = signal(ways.includes(localStorage.getItem(place) ?? '') ? /** @type {string} */ (localStorage.getItem(place)) : 'off');

/**
 * Tells of each that comes to those that wait.
 * @param {import('@preact/signals').ReadonlySignal<number>} waiting how many wait for a person
 */
export function tellOf(waiting) {
  let before = 0;
  effect(() => {
    const n = waiting.value, more = n > before;
    before = n;
    if (!more || !document.hidden || way.peek() === 'off' || Notification.permission !== 'granted') return;
    const told = new Notification('pagetools', { body: n === 1 ? 'A call waits for you.' : `${n} calls wait for you.`, tag: 'pagetools', silent: way.peek() === 'silent' });
    told.onclick = () => {
      focus();
      told.close();
    };
  });
}

export function Notify() {
  const [said, setSaid] = useState('');
  /** @param {string} to */
  const choose = async (to) => {
    setSaid('');
    const may = to === 'off' ? 'granted' : 'Notification' in window ? await Notification.requestPermission() : 'missing';
    if (may === 'granted') {
      way.value = to;
      localStorage.setItem(place, to);
    } else {
      setSaid(may === 'missing' ? 'This browser has no notifications.' : 'The browser does not allow them for this page: its settings for this site have a switch.');
    }
  };
  return (
    <p>
      <label for="notify">Notifications while this page is not looked at</label> <select id="notify" value={way.value} onChange={(e) => {
        const to = e.currentTarget.value;
        e.currentTarget.value = way.value; // until it is allowed
        choose(to);
      }}>{ways.map((w) => <option>{w}</option>)}</select> <span role="status">{said}</span>
    </p>
  );
}
