// @ts-check
// A form: one value as a tree, shown as fields or as text.
import { computed, signal } from '@preact/signals';

import { bad, fault, find, parse, printItem, put, same, spelled, tidy } from './json.js';
import { Planner, holdsSecret } from './plan.js';
import { Schema } from './schema.js';

/**
 * @typedef {import('./json.js').JSONNode} JSONNode
 * @typedef {import('./json.js').Item} Item
 * @typedef {import('./plan.js').Field} Field
 * @typedef {import('./plan.js').Pick} Pick
 * @typedef {{text: string, problem?: undefined} | {problem: string, pointer: string, text?: undefined}} Outcome
 */

let forms = 0;

export class Form {
  /** It is in the ids of the form's elements. */
  id = `form${++forms}`;
  /** The value, as long as its text is JSON. @type {import('@preact/signals').Signal<Item>} */
  doc;
  /** The text that a person writes. @type {import('@preact/signals').Signal<string>} */
  raw = signal('');
  /** @type {import('@preact/signals').Signal<'form' | 'json'>} */
  mode = signal(/** @type {'form' | 'json'} */ ('form'));
  /** Why the fields were not shown when they were asked for. */
  refused = signal('');
  /** What to send, or why it cannot be sent. Text that is not JSON is never sent, and no older value in its place. @type {import('@preact/signals').ReadonlySignal<Outcome>} */
  outcome = computed(() => this.#outcome());
  /** Whether something else would be sent than what came in. */
  changed = computed(() => this.outcome.value.text !== this.#came);
  /** @type {import('@preact/signals').ReadonlySignal<Field>} */
  plan = computed(() => (this.version.value, this.planner.plan(this.doc.value.node)));
  /** Grows when fields change and the value does not. */
  version = signal(0);
  /** Where the focus goes after the next change: a field, and whether to what adds to it. @type {{key: string, adds: boolean} | undefined} */
  wanted;
  #came;
  /** The tree as it was read: what is typed again keeps its spelling. */
  #first;
  /** Values of variants that were left, by pick and variant. @type {Map<string, JSONNode>} */
  #left = new Map();

  /** @param {{schema: string, value?: string}} o the text of the schema, and of the value; without one, the least that the schema has */
  constructor({ schema, value }) {
    this.schema = new Schema(schema);
    this.planner = new Planner(this.schema);
    /** @type {Item} */
    let doc;
    try {
      doc = value === undefined ? { id: 0, lead: '', tail: '', node: this.planner.fresh(this.schema.root) } : parse(value);
    } catch (e) {
      doc = { id: 0, lead: '', tail: '', node: bad(value ?? '', /** @type {Error} */ (e).message) };
    }
    this.#came = value ?? printItem(doc);
    this.#first = doc;
    this.doc = signal(doc);
    if (this.schema.problem !== undefined || doc.node.kind === 'bad' && value !== undefined) this.#show();
  }

  /** @returns {Outcome} */
  #outcome() {
    if (this.mode.value === 'form') {
      const wrong = fault(this.doc.value.node);
      return wrong ?? { text: printItem(this.doc.value) };
    }
    try {
      parse(this.raw.value);
      return { text: this.raw.value };
    } catch (e) {
      return { problem: /** @type {Error} */ (e).message, pointer: '' };
    }
  }

  /** Whether the value has something in it that a screen should not show to everybody. */
  get secret() {
    const walk = (/** @type {Field} */ f) => f.secret && f.node !== undefined || f.children.some(walk);
    return walk(this.plan.value) || holdsSecret(this.doc.value.node);
  }

  #show() {
    this.raw.value = printItem(this.doc.value);
    this.mode.value = 'json';
  }

  /** Shows fields, or text. Text that is not JSON stays text, and `refused` says why. @param {'form' | 'json'} mode */
  show(mode) {
    this.refused.value = '';
    if (mode === this.mode.value) return;
    if (mode === 'json') return this.#show();
    if (this.schema.problem !== undefined) {
      this.refused.value = this.schema.problem;
      return;
    }
    const { text, problem } = this.outcome.value;
    const untouched = this.raw.value === printItem(this.doc.value);
    if (text !== undefined && (!untouched || fault(this.doc.value.node))) {
      this.planner.forget();
      this.#left.clear();
      this.#first = this.doc.value = parse(text);
    } else if (!untouched || this.doc.value.node.kind === 'bad') {
      this.refused.value = `The fields are shown when the text is JSON. ${problem}`;
      return;
    }
    this.mode.value = 'form';
  }

  /** Lays out the text, one member a line; nothing else of it changes. */
  tidy() {
    if (this.outcome.value.text !== undefined) this.raw.value = printItem(tidy(parse(this.raw.value)));
  }

  /** Sets the value of a field, or removes it. @param {Field} f @param {JSONNode | undefined} node */
  put(f, node) {
    const before = find(this.#first.node, f.path);
    if (node !== undefined && node.kind !== 'object' && node.kind !== 'array' && same(before, node)) node = before;
    const beside = find(this.#first.node, f.path.slice(0, -1));
    const names = beside?.kind === 'object' ? beside.pairs.map((p) => p.name) : [];
    const order = names.includes(String(f.path.at(-1))) ? names : f.order;
    this.#set(put(this.doc.value, f.path, node, order), f.path);
  }

  /** Takes a changed tree. What is around the change is spelled as it came in, as soon as it has the same members again. @param {Item} doc @param {import('./json.js').Path} path */
  #set(doc, path) {
    for (let n = path.length - 1; n >= 0; n--) {
      const at = path.slice(0, n);
      const [now, was] = [find(doc.node, at), find(this.#first.node, at)];
      if (now !== undefined && was !== undefined) doc = put(doc, at, spelled(now, was));
    }
    this.doc.value = doc;
  }

  /** Sends a field that was not sent: with a value of its type. @param {Field} f */
  add(f) {
    this.wanted = { key: f.key, adds: false };
    this.put(f, this.planner.fresh(f.schemas, undefined, typeOf(f)));
  }

  /** Removes a property or an item; the focus goes to what took its place. @param {Field} f */
  remove(f) {
    const parent = this.#fieldAt(f.path.slice(0, -1));
    if (parent === undefined) return;
    const at = parent.children.indexOf(f);
    const next = f.removable && !f.free ? f : parent.children[at + 1] ?? parent.children[at - 1];
    this.wanted = next === undefined ? { key: parent.key, adds: true } : { key: next.key, adds: false };
    this.put(f, undefined);
  }

  /** Adds an item to a list, or a property with that name to an object. @param {Field} f @param {string} [name] */
  grow(f, name) {
    const { node, place } = f;
    if (node?.kind === 'array') {
      const of = place.prefix[node.items.length] ?? place.items;
      this.#set(put(this.doc.value, [...f.path, node.items.length], this.planner.fresh(of)), [...f.path, node.items.length]);
    } else if (name !== undefined) {
      this.#set(put(this.doc.value, [...f.path, name], this.planner.fresh(this.planner.free(place))), [...f.path, name]);
    }
    const key = this.#fieldAt([...f.path, node?.kind === 'array' ? node.items.length : name ?? ''])?.key;
    this.wanted = { key: key ?? f.key, adds: key === undefined };
  }

  /** @param {import('./json.js').Path} path @returns {Field | undefined} */
  #fieldAt(path) {
    /** @type {Field | undefined} */
    let f = this.plan.value;
    for (const step of path) f = f?.children.find((x) => x.path.at(-1) === step);
    return f;
  }

  /** Takes another variant. What the value was is kept, should the person come back. @param {Field} f @param {Pick} pick @param {number} i */
  choose(f, pick, i) {
    if (f.node !== undefined) this.#left.set(`${pick.key}:${pick.chosen}`, f.node);
    this.planner.chosen.set(pick.key, i);
    this.planner.unstick(f.key);
    const schemas = pick.group ? this.planner.variant(pick.base, pick.group, i) : pick.base;
    const node = this.#left.get(`${pick.key}:${i}`) ?? this.planner.fresh(schemas, f.node, pick.types?.[i]);
    this.version.value++;
    this.put(f, node);
  }

  /** Shows a field that is edited as JSON as its schema wants it; a value of another type is replaced. @param {Field} f */
  settle(f) {
    this.wanted = { key: f.key, adds: false };
    this.planner.unstick(f.key);
    this.version.value++;
    this.put(f, this.planner.fresh(f.schemas, f.node, typeOf(f)));
  }
}

/** The type that was picked for a field that may have several. @param {Field} f */
function typeOf(f) {
  const pick = f.picks.find((p) => p.types !== undefined);
  return pick?.types?.[pick.chosen];
}

/** The value that a text is, or what stands for it until it is one. @param {string} text */
export function read(text) {
  try {
    return parse(text).node;
  } catch (e) {
    return bad(text, text.trim() === '' ? 'A value is missing.' : `${/** @type {Error} */ (e).message}`);
  }
}

