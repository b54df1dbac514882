// @ts-check
// Whose page it is, where it outlives the process that uses it, and how the calls of the process before ended. See shim/doc.go,
// Epochs.

import { NativeMap, freeze, mapDelete, mapForEach, mapGet, mapHas, mapSet, mapSize } from './natives.js';
import { inFlight } from './registry.js';
import { goneText } from './replies.js';

/** The highest epoch that was seen; 0 is none. */
let highest = 0;

/** The ends of calls by call id, the oldest first, and their length. @type {Map<string, string>} */
const ends = new NativeMap();
let length = 0;
const most = { ends: 64, length: 256 * 1024 };

const gone = () => 'gone';
const past = () => goneText('epoch', 'the page has another owner');

/** What an owner gets that is not the newest: nothing happens. */
const nobody = freeze({
  __proto__: null, watch: () => '', call: past, wait: past, answer: gone, remind: gone, abort: gone, shutdown: gone, fault: gone, outcome: gone,
});

/**
 * owned returns what the owner of an epoch may use.
 * @template T
 * @param {number} epoch
 * @param {T} shim
 * @returns {T | typeof nobody}
 */
export function owned(epoch, shim) {
  if (epoch < highest) return nobody;
  highest = epoch;
  return shim;
}

/**
 * keepEnd keeps how a call ended, where another owner may ask.
 * @param {string} callID
 * @param {() => string} end
 */
export function keepEnd(callID, end) {
  if (highest === 0) return;
  drop(mapGet(ends, callID) ?? '', callID);
  const text = end();
  mapSet(ends, callID, text);
  length += text.length;
  mapForEach(ends, (/** @type {string} */ oldest, /** @type {string} */ id) => {
    if (length > most.length || mapSize(ends) > most.ends) drop(oldest, id);
  });
}

/**
 * @param {string} text
 * @param {string} callID
 */
function drop(text, callID) {
  mapDelete(ends, callID);
  length -= text.length;
}

/**
 * outcomeOf returns the end of a call, a reply text without a state.
 * @param {string} callID
 */
export const outcomeOf = (callID) => (mapHas(inFlight, callID) ? 'running' : mapGet(ends, callID) ?? 'unknown');
