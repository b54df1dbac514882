// @ts-check
// The only state of the shim: the tools of this document in three layers (script, forms, manifest), the revision, who waits for
// it, and the calls in flight. Dialects translate to it; nothing here knows a dialect.

import { eachPeer } from './frames.js';
import {
  NativeMap, NativePromise, NativeSet, mapDelete, mapForEach, mapGet, mapHas, mapSet, mapSize, microtask, own, random, setAdd, setHas,
} from './natives.js';
import { limits, stateText } from './wire.js';

/** @type {Registry} */
const state = {
  __proto__: null, rev: 0, changes: 0, lastID: firstID(), script: new NativeMap(), forms: new NativeMap(), manifest: new NativeMap(), refused: null, waiter: null,
  pending: new NativeMap(), scheduled: false, coming: null, held: 0, document, problems: noProblems(), adapters: new NativeMap(),
};

/**
 * Whose code registers tools: an adapter of the operator, counted from 1, or the page, which is 0. What an adapter registers is a layer
 * of its own, below all of the page's. src/adapter fills the rest in.
 * @type {Registrar}
 */
export const registrar = { __proto__: null, adapter: 0, quiet: false, renewed: nothing, shadowed: nothing, explain: () => '' };

/** @returns {Problems} */
function noProblems() {
  return { __proto__: null, text: '', count: 0, full: false, seen: new NativeSet(), scheduled: false };
}

/**
 * firstID makes the ids of two documents differ, so that a call that was meant for one never finds a tool of the other.
 */
function firstID() {
  return (random() * 2 ** 31 >>> 0) * 2 ** 20;
}

/** The calls in flight by call id; those of pages by themselves. @type {Map<any, Call>} */
export const inFlight = new NativeMap();

/** The calls that stopped for a person at least once, by call id, until their end was said. @type {Map<string, Call>} */
export const asked = new NativeMap();

/** What else follows a change, and what settles a registration: native.js has the browser do both. */
export const browser = { changed: nothing, settle: (/** @type {Tool} */ _, /** @type {Pending} */ pending) => pending.resolve() };

/** Changes of tools and of what went wrong. */
export const revision = () => state.rev;

/** Changes of tools alone. */
export const changes = () => state.changes;

/**
 * renew forgets the tools of a document that another one replaced in the same window, as happens to the empty one that every
 * frame starts with. Everything that reads or changes the tools comes through here first.
 */
export function renew() {
  if (state.document === document) return;
  state.document = document;
  state.script = new NativeMap();
  state.forms = new NativeMap();
  state.manifest = new NativeMap();
  state.refused = null;
  state.problems = noProblems();
  state.coming = null;
  state.held = 0;
  state.adapters = new NativeMap();
  changed();
  registrar.renewed();
}

/**
 * hold keeps back the first look at the tools of this document, for which rev is below 0, because more of them are on the way, until
 * what it returns is called. It does so once for each document: a page that pretends to begin again is not waited for.
 */
export function hold() {
  if (state.coming !== null) return nothing;
  const of = state.document;
  state.coming = true;
  return () => {
    if (state.document !== of) return;
    state.coming = false;
    deliver();
  };
}

/** wait is hold for an adapter: each is waited for, and once. */
export function wait() {
  renew();
  const of = state.document;
  let over = false;
  state.held++;
  return () => {
    if (over || state.document !== of) return;
    over = true;
    state.held--;
    deliver();
  };
}

/**
 * note keeps what went wrong in the document: so many entries that differ. The tools are the same, so nobody but the Go half hears.
 * @param {string} text of wire.js
 */
export function note(text) {
  renew();
  const { problems } = state;
  if (problems.full || setHas(problems.seen, text)) return;
  problems.full = problems.count === limits.problems || problems.text.length + text.length > limits.problemBytes;
  if (!problems.full) {
    setAdd(problems.seen, text);
    problems.text += (problems.count++ === 0 ? '' : ',') + text;
  }
  state.rev++;
  if (problems.scheduled) return;
  problems.scheduled = true;
  microtask(() => {
    problems.scheduled = false;
    deliver();
  });
}

/**
 * hasScriptTool reports whether a script has the name. What is only mirrored from a foreign object gives way.
 * @param {string} name
 */
export function hasScriptTool(name) {
  renew();
  if (registrar.adapter !== 0) return find(name) !== null;
  const tool = mapGet(state.script, name);
  return tool !== undefined && tool.owner === null;
}

/**
 * isTaken tells whether a script may not register the name.
 * @param {string} name
 */
export function isTaken(name) {
  return hasScriptTool(name) || mapHas(state.forms, name);
}

/**
 * find returns the tool that was registered under the id, or the one that has the name, while it is visible.
 * @param {number | string} key
 * @returns {Tool | null}
 */
export function find(key) {
  /** @type {Tool | null} */
  let found = null;
  eachVisible((tool) => {
    if (tool.id === key || tool.name === key) found ??= tool;
  });
  return found;
}

/**
 * eachVisible walks the tools layer by layer, each in order of registration; a tool hides those of its name in later layers.
 * @param {(tool: Tool) => void} visit
 */
export function eachVisible(visit) {
  renew();
  mapForEach(state.script, visit);
  mapForEach(state.forms, (/** @type {Tool} */ tool, /** @type {string} */ name) => {
    if (!mapHas(state.script, name)) visit(tool);
  });
  mapForEach(state.manifest, (/** @type {Tool} */ tool, /** @type {string} */ name) => {
    if (!mapHas(state.script, name) && !mapHas(state.forms, name)) visit(tool);
  });
  mapForEach(state.adapters, (/** @type {Tool} */ tool, /** @type {string} */ name) => {
    if (!mapHas(state.script, name) && !mapHas(state.forms, name) && !mapHas(state.manifest, name)) visit(tool);
  });
}

/**
 * layer says where the tools of an adapter are, or those of the page's scripts.
 * @param {number} adapter
 */
const layer = (adapter) => (adapter === 0 ? state.script : state.adapters);

/**
 * add registers one script tool. The promise is settled after toolchange was dispatched; `pending.reject` settles it before.
 * @param {Tool} tool
 * @returns {{__proto__: null, promise: Promise<undefined>, pending: Pending}}
 */
export function add(tool) {
  /** @type {Pending} */
  const pending = { __proto__: null, resolve: nothing, reject: nothing };
  const promise = new NativePromise((resolve, reject) => {
    pending.resolve = () => resolve(undefined);
    pending.reject = reject;
  });
  mapSet(state.pending, tool, pending);
  put(tool);
  return { __proto__: null, promise, pending };
}

/**
 * put makes a script tool visible; it takes the place of one with its name.
 * @param {Tool} tool
 */
export function put(tool) {
  renew();
  number(tool);
  mapSet(layer(tool.adapter), tool.name, tool);
  changed();
}

/** nothing does nothing. */
export function nothing() {}

/**
 * remove unregisters a script tool; with a tool, only while the name still stands for exactly that registration.
 * @param {string} name
 * @param {Tool} [only]
 */
export function remove(name, only) {
  renew();
  const tools = layer(only === undefined ? registrar.adapter : only.adapter);
  const tool = mapGet(tools, name);
  if (tool === undefined || (only !== undefined && tool !== only)) return;
  mapDelete(tools, name);
  changed();
}

/**
 * removeOwned unregisters what is mirrored from a foreign object.
 * @param {object} owner
 */
export function removeOwned(owner) {
  mapForEach(state.script, (/** @type {Tool} */ tool, /** @type {string} */ name) => {
    if (tool.owner === owner) remove(name);
  });
}

/**
 * replaceScript puts a whole new set in the place of all script tools of the page, or of those of the adapter that runs.
 * @param {Map<string, Tool>} tools
 */
export function replaceScript(tools) {
  const { adapter } = registrar;
  if (mapSize(tools) === 0 && mapSize(layer(adapter)) === 0) return;
  renew();
  mapForEach(tools, number);
  if (adapter === 0) state.script = tools;
  else {
    mapForEach(state.adapters, (/** @type {Tool} */ tool, /** @type {string} */ name) => {
      if (tool.adapter === adapter) mapDelete(state.adapters, name);
    });
    mapForEach(tools, (/** @type {Tool} */ tool, /** @type {string} */ name) => mapSet(state.adapters, name, tool));
  }
  changed();
}

/**
 * replaceForms puts in place what the forms of the document declare; a form that says the same as before is the same tool.
 * @param {Map<string, Tool>} tools
 */
export function replaceForms(tools) {
  renew();
  mapForEach(tools, (/** @type {Tool} */ tool) => {
    if (tool.id === 0) number(tool);
  });
  state.forms = tools;
  changed();
}

/**
 * replaceManifest puts in place what the manifest declares, and what of it was refused.
 * @param {Map<string, Tool>} tools
 * @param {Refusal | null} refused
 */
export function replaceManifest(tools, refused) {
  renew();
  const before = mapSize(state.manifest);
  if (mapSize(tools) === 0 && before === 0 && refused === null && state.refused === null) return;
  mapForEach(tools, number);
  state.manifest = tools;
  state.refused = refused;
  changed();
}

/** @param {Tool} tool */
function number(tool) {
  tool.id = ++state.lastID;
  if (tool.adapter === 0 && mapHas(state.adapters, tool.name)) registrar.shadowed(mapGet(state.adapters, tool.name));
}

/** All changes of one run of page code are one message and one event: both leave in the microtask. */
function changed() {
  state.rev++;
  state.changes++;
  browser.changed();
  if (state.scheduled) return;
  microtask(flush);
  state.scheduled = true;
}

function flush() {
  state.scheduled = false;
  deliver();
  const pending = state.pending;
  state.pending = new NativeMap();
  eachPeer((peer) => peer.changed());
  mapForEach(pending, (/** @type {Pending} */ registration, /** @type {Tool} */ tool) => browser.settle(tool, registration));
}

/**
 * watch waits for a revision above rev. A new watch ends the one before it with ''.
 * @param {number} rev
 * @param {number} room for the tools
 * @returns {Promise<string>}
 */
export function watch(rev, room) {
  renew();
  if (state.waiter !== null) state.waiter.resolve('');
  return own(new NativePromise((resolve) => {
    state.waiter = { __proto__: null, rev, room, resolve };
    deliver();
  }));
}

function deliver() {
  const waiter = state.waiter;
  if (waiter === null || state.rev <= waiter.rev || waiter.rev < 0 && (state.coming === true || state.held > 0)) return;
  state.waiter = null;
  waiter.resolve(currentState(waiter.room));
}

/**
 * currentState is the state text as it is now.
 * @param {number} [room]
 */
export function currentState(room = limits.room) {
  return stateText(state.rev, eachVisible, state.refused, state.problems, room);
}
