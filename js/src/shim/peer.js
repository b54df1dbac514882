// @ts-check
// What this document offers to the others of its origin in the tab.

import { runForPage } from './calls.js';
import { announce } from './dialects/events.js';
import { global, windowOrigin } from './dom.js';
import { readChanges } from './forms.js';
import { eachVisible, find } from './registry.js';

/** @type {Peer} */
export const me = {
  __proto__: null, window: global, origin: () => windowOrigin(global), find, run: runForPage,
  each: (visit) => {
    readChanges();
    eachVisible(visit);
  },
  changed: () => announce('toolchange'),
};
