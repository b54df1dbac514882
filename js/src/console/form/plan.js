// @ts-check
// The fields of a form: what each place of a value shows, made anew from schema and value after every edit, within bounds.
import { bad, children, deeper, isNumber, kindOf, literal, print, same, stringNode } from './json.js';
import { anyKind, limits, listed, textOf } from './schema.js';
import { isSecretName } from './secret.js';
import { visible } from '../text.js';

/**
 * @typedef {import('./json.js').JSONNode} JSONNode
 * @typedef {import('./json.js').Path} Path
 * @typedef {import('./schema.js').Schemas} Schemas
 * @typedef {import('./schema.js').Place} Place
 * @typedef {import('./schema.js').Option} Option
 * @typedef {{key: string, labels: string[], chosen: number, base: Schemas, group?: JSONNode, types?: string[]}} Pick a choice between variants, or between types
 * @typedef {object} Field
 * @property {string} key made by us; the same as long as the field is the same
 * @property {Path} path
 * @property {string} pointer
 * @property {string} [name] none for the root and for items
 * @property {JSONNode} [node] undefined while it is not sent
 * @property {Schemas} schemas
 * @property {Place} place
 * @property {'text' | 'date' | 'number' | 'choice' | 'object' | 'array' | 'raw' | 'never'} control
 * @property {string} type in words
 * @property {string} [reason] why it is edited as JSON
 * @property {Option[]} [options]
 * @property {Pick[]} picks
 * @property {Field[]} children
 * @property {number} count of fields, this one included
 * @property {boolean} required
 * @property {boolean} removable it is a property, which can be left out
 * @property {boolean} free its schema does not name it
 * @property {boolean} grows items or properties can be added
 * @property {boolean} secret
 * @property {string[]} order of the names beside it
 * @typedef {Pick_<Field, 'key' | 'path' | 'pointer' | 'name' | 'required' | 'removable' | 'free' | 'secret' | 'order'> & {depth: number}} Where
 */
/** @template T @template {keyof T} K @typedef {{[P in K]: T[P]}} Pick_ */

const words = { string: 'text', number: 'number', integer: 'whole number', boolean: 'true or false', object: 'object', array: 'list', null: 'null' };
/** @param {string} type */
const word = (type) => /** @type {Record<string, string>} */ (words)[type] ?? type;
const maxPicks = 8;
const booleans = [{ node: literal('true') }, { node: literal('false') }];
const nulls = [{ node: literal('null') }];
const formats = ['date', 'date-time', 'time', 'duration', 'email', 'uri', 'hostname', 'ipv4', 'ipv6', 'uuid', 'password'];

/** Text of strangers in one line of ours: every character is seen, and it has an end. @param {string} text @param {number} [most] */
export const short = (text, most = 64) => visible(text.length > most ? `${text.slice(0, most)}…` : text).replaceAll('\n', ' ');

/** Whether a date field can hold a value as it is. @param {JSONNode} node */
const isDate = (node) => node.kind === 'string' && /^(?!0000)\d{4}-\d\d-\d\d$/.test(node.value) && new Date(`${node.value}T00:00Z`).toJSON()?.slice(0, 10) === node.value;

/** Whether a text field can hold a value as it is, and shows all of it. @param {JSONNode} node */
const isPlainText = (node) => node.kind === 'string' && visible(node.value) === node.value;

export class Planner {
  /** What a person chose, by the key of the pick. @type {Map<string, number>} */
  chosen = new Map();
  /** What was shown last: it stays while someone types what fits nothing. @type {Map<string, number>} */
  #shown = new Map();
  /** The control of a field stays while someone types in it. @type {Map<string, Field['control']>} */
  #controls = new Map();
  #left = 0;
  /** How often the bound of fields was met. */
  #cuts = 0;
  /** Fields of the last plans, which stay while their value does. @type {Map<string, {schemas: Schemas, field: Field}>} */
  #made = new Map();
  /** @type {WeakMap<JSONNode, Schemas>} */
  #single = new WeakMap();

  /** @param {import('./schema.js').Schema} schema */
  constructor(schema) {
    this.schema = schema;
  }

  /** Forgets what was shown: the value is another one. */
  forget() {
    this.chosen.clear();
    this.#shown.clear();
    this.#controls.clear();
    this.#made.clear();
  }

  /** Takes the control that fits the value now, after something was chosen. @param {string} key */
  unstick(key) {
    this.#controls.delete(key);
    this.#made.clear();
  }

  /** @param {JSONNode} node @returns {Field} */
  plan(node) {
    this.schema.judge.begin();
    this.#left = limits.fields - 1;
    return this.#field(this.schema.root, node, { key: 'r', path: [], pointer: '', required: true, removable: false, free: false, secret: false, order: [], depth: 0 });
  }

  /** @param {JSONNode} s @returns {Schemas} */
  #alone(s) {
    const made = this.#single.get(s) ?? [s];
    this.#single.set(s, made);
    return made;
  }

  /** @param {Schemas} schemas @param {JSONNode | undefined} node @param {Where} where @returns {Field} */
  #field(schemas, node, where) {
    const { field: last, schemas: of } = this.#made.get(where.key) ?? {};
    if (last !== undefined && of === schemas && last.node === node && last.pointer === where.pointer && last.required === where.required && last.count - 1 <= this.#left) {
      this.#left -= last.count - 1;
      return last;
    }
    const cuts = this.#cuts;
    const made = this.#anew(schemas, node, where);
    if (this.#made.size > 5 * limits.fields) this.#made.clear();
    if (cuts === this.#cuts) this.#made.set(where.key, { schemas, field: made });
    return made;
  }

  /** @param {Schemas} schemas @param {JSONNode | undefined} node @param {Where} where @returns {Field} */
  #anew(schemas, node, where) {
    /** @type {Pick[]} */
    const picks = [];
    schemas = this.#variants(schemas, node, where.key, picks);
    const place = this.schema.at(schemas);
    const types = [...place.types];
    const secret = where.secret || place.secret || where.name !== undefined && isSecretName(where.name);
    /** @type {Field} */
    const f = { ...where, node, schemas, place, control: 'raw', type: typeWords(place), picks, children: [], count: 1, grows: false, secret };
    const type = types.length === 1 ? types[0] : place.options || place.never || place.problem !== undefined ? undefined : this.#type(f, types.length === 0 ? anyKind : types);
    if (place.problem !== undefined) f.reason = place.problem;
    else if (place.never) f.control = 'never';
    else if (place.options) [f.control, f.options] = ['choice', place.options];
    else this.#control(f, type ?? 'string', where.depth);
    if (node !== undefined) this.#controls.set(f.key, f.control);
    if (f.control === 'object' || f.control === 'array') this.#inside(f, where.depth);
    return f;
  }

  /**
   * Adds the variants that fit, or that a person chose, to the schemas of a place; without a key, which is for what is not shown, the likeliest.
   * @param {Schemas} schemas @param {JSONNode | undefined} node @param {string} [key] @param {Pick[]} [picks]
   */
  #variants(schemas, node, key, picks = []) {
    for (let round = 0; ; round++) {
      schemas = this.schema.resolve(schemas, node);
      const { groups, problem } = this.schema.at(schemas);
      const done = this.schema.decided(schemas);
      const group = groups.find((g) => !done.has(g));
      if (group === undefined || problem !== undefined || round >= maxPicks) return schemas;
      const variants = listed(group);
      const id = `${key}v${done.size}`;
      const chosen = key === undefined ? this.#guess(variants, node) : this.#pick(id, variants.length, node, (i) => this.schema.judge.mayFit(/** @type {JSONNode} */ (variants[i]), /** @type {JSONNode} */ (node)), () => this.#guess(variants, node));
      if (variants.length > 1) picks.push({ key: id, labels: this.#labels(variants), chosen, base: schemas, group });
      schemas = this.variant(schemas, group, chosen);
    }
  }

  /** A place with one variant of a group. @param {Schemas} base @param {JSONNode} group @param {number} chosen */
  variant(base, group, chosen) {
    const s = listed(group)[chosen];
    return this.schema.with(base, s === undefined ? [] : [s], `v${this.schema.decided(base).size}:${chosen}`, group);
  }

  /** @param {Field} f @param {string[]} types */
  #type(f, types) {
    const is = kindOf(f.node);
    const fits = (/** @type {number} */ i) => types[i] === is || types[i] === 'integer' && is === 'number';
    const chosen = this.#pick(`${f.key}t`, types.length, f.node, fits, () => Math.max(0, types.findIndex((t) => t !== 'null')));
    f.picks.push({ key: `${f.key}t`, labels: types.map(word), chosen, base: f.schemas, types });
    return types[chosen];
  }

  /**
   * Which of n variants a value has: the one that a person chose; else the first that fits; else the last shown.
   * @param {string} key @param {number} n @param {JSONNode | undefined} node @param {(i: number) => boolean | undefined} fits @param {() => number} guess
   */
  #pick(key, n, node, fits, guess) {
    let found = this.chosen.get(key) ?? -1;
    for (let i = 0; i < n && found < 0 && node !== undefined && node.kind !== 'bad'; i++) if (fits(i) === true) found = i;
    if (found < 0) found = this.#shown.get(key) ?? guess();
    this.#shown.set(key, found);
    return found;
  }

  /** The likeliest variant of a value that fits none: by its type, and by the names and constants that it has. @param {JSONNode[]} variants @param {JSONNode | undefined} node */
  #guess(variants, node) {
    const is = kindOf(node);
    const scores = variants.map((s) => {
      const p = this.schema.at(this.#alone(s));
      if (node === undefined) return p.types.size === 1 && p.types.has('null') ? -1 : 0;
      let score = p.types.size === 0 || is === undefined || p.types.has(is) ? 1 : -5;
      for (const [name, x] of children(node)) {
        const schemas = p.properties.get(String(name));
        if (schemas === undefined) continue;
        const { options } = this.schema.at(schemas);
        score += options === undefined ? 0.1 : options.some((o) => same(o.node, x.node)) ? 2 : -2;
      }
      return score;
    });
    return scores.indexOf(Math.max(...scores));
  }

  /** What variants are called: by their title, by what they are known by, by their type. @param {JSONNode[]} variants */
  #labels(variants) {
    const all = variants.map((s, i) => {
      const p = this.schema.at(this.#alone(s));
      const known = [...p.properties].slice(0, 20).map(([name, of]) => [name, this.schema.at(of).options]).find(([, o]) => o?.length === 1);
      const title = textOf(p.said.title);
      if (title) return short(title);
      if (known) return short(`${known[0]}: ${print(/** @type {Option[]} */ (known[1])[0].node)}`);
      if (p.options?.length === 1) return short(print(/** @type {Option} */ (p.options[0]).node));
      if (p.types.size > 0 && p.types.has('object') && p.required.size > 0) return short(`object with ${[...p.required].join(', ')}`);
      return p.types.size > 0 ? typeWords(p) : p.required.size > 0 ? short(`with ${[...p.required].join(', ')}`) : `variant ${i + 1}`;
    });
    return all.map((label, i) => (all.indexOf(label) === i ? label : `${label} (${i + 1})`));
  }

  /** @param {Field} f @param {string} type @param {number} depth */
  #control(f, type, depth) {
    const { node } = f;
    const is = kindOf(node);
    const before = this.#controls.get(f.key);
    if (node !== undefined && (before === 'raw' || is !== undefined && is !== type && !(is === 'number' && type === 'integer'))) {
      f.reason = is === undefined || is === type || is === 'number' && type === 'integer' ? 'Edited as JSON.' : `The value is of type ${word(is)}; the schema wants ${word(type)}.`;
      return;
    }
    const dated = type === 'string' && textOf(f.place.said.format) === 'date' && !f.secret && before !== 'text';
    if (node?.kind === 'bad' && ['object', 'array', 'string'].includes(type) && !dated) {
      f.reason = 'Edited as JSON.';
      return;
    }
    switch (type) {
      case 'boolean': case 'null':
        [f.control, f.options] = ['choice', type === 'null' ? nulls : booleans];
        break;
      case 'number': case 'integer':
        f.control = 'number';
        break;
      case 'object': case 'array':
        if (depth >= limits.depth) f.reason = `It is more than ${limits.depth} levels deep.`;
        else f.control = type;
        break;
      default:
        if (dated && (node === undefined || node.kind === 'bad' || before === 'date' || isDate(node))) f.control = 'date';
        else if (node === undefined || before === 'text' || isPlainText(node)) f.control = 'text';
        else f.reason = 'The text has characters that a text field does not show, or would change: it is edited as JSON.';
    }
  }

  /** The fields of an object or a list. @param {Field} f @param {number} depth */
  #inside(f, depth) {
    const { node, place, key } = f;
    if (f.control === 'array') f.grows = this.#itemAt(place, node?.kind === 'array' ? node.items.length : 0) !== undefined;
    else f.grows = place.patterns.length > 0 || !place.more.some((s) => s.kind === 'literal' && s.text === 'false');
    if (node === undefined) return;
    const names = [...place.properties.keys()];
    const declared = new Set(names);
    const all = node.kind === 'object' ? [...names, ...node.pairs.map((p) => p.name).filter((n) => !declared.has(n))] : [];
    const n = node.kind === 'array' ? node.items.length : all.length;
    if (n > this.#left) {
      this.#cuts++;
      f.control = 'raw';
      f.reason = `The form has more than ${limits.fields} fields.`;
      return;
    }
    this.#left -= n;
    const { path, pointer, secret } = f;
    const where = (/** @type {string | number} */ step, /** @type {string} */ k) => ({ key: k, path: [...path, step], pointer: deeper(pointer, step), secret, depth: depth + 1, order: names });
    if (node.kind === 'array') {
      f.children = node.items.map((x, i) => this.#field(this.#itemAt(place, i) ?? this.#alone(literal('true')), x.node, { ...where(i, `${key}_${x.id}`), required: true, removable: false, free: false }));
    } else if (node.kind === 'object') {
      const pairs = new Map(node.pairs.map((p) => [p.name, p]));
      f.children = all.map((name, i) => {
        const pair = pairs.get(name);
        const free = !declared.has(name);
        return this.#field(place.properties.get(name) ?? this.free(place), pair?.node, { ...where(name, free ? `${key}_${pair?.id}` : `${key}-${i}`), name, required: place.required.has(name), removable: true, free });
      });
    }
    f.count = 1 + f.children.reduce((sum, x) => sum + x.count, 0);
  }

  /** The schemas of an item, or undefined where there may be none. @param {Place} place @param {number} i @returns {Schemas | undefined} */
  #itemAt(place, i) {
    const of = place.prefix[i] ?? place.items;
    return of.some((s) => s.kind === 'literal' && s.text === 'false') ? undefined : of;
  }

  /** The schemas of a property that the schema does not name. @param {Place} place */
  free(place) {
    const more = place.more.filter((s) => s.kind !== 'literal');
    return place.patterns.length === 1 && more.length === 0 ? place.patterns : more.length === place.more.length ? place.more : nothing;
  }

  /**
   * The least value of a place: constants that must be there, and nothing of defaults. What fits of an old value stays.
   * @param {Schemas} schemas @param {JSONNode} [old] @param {string} [type]
   * @returns {JSONNode}
   */
  fresh(schemas, old, type) {
    schemas = this.#variants(schemas, undefined);
    const p = this.schema.at(schemas);
    const [only] = p.options ?? [];
    if (p.never) return old ?? bad('', 'The schema allows no value here.');
    if (p.options) return old !== undefined && p.options.some((o) => same(o.node, old)) ? old : p.options.length === 1 && only ? only.node : bad('', 'Choose a value.');
    const is = kindOf(old);
    const may = p.types.size === 0 ? anyKind : [...p.types];
    type ??= may.find((t) => t === is || t === 'integer' && is === 'number') ?? may.find((t) => t !== 'null') ?? 'null';
    if (old !== undefined && is !== 'object' && (type === is || type === 'integer' && is === 'number')) return old;
    switch (type) {
      case 'string': return stringNode('');
      case 'number': case 'integer': return bad('', 'A number is missing.');
      case 'boolean': return bad('', 'Choose a value.');
      case 'null': return literal('null');
      case 'array': return { kind: 'array', items: [], inner: '' };
    }
    return this.#object(p, is === 'object' ? old : undefined);
  }

  /** @param {Place} p @param {JSONNode} [old] @returns {JSONNode} */
  #object(p, old) {
    /** @type {import('./json.js').Pair[]} */
    const pairs = [];
    const closed = p.more.some((s) => s.kind === 'literal' && s.text === 'false');
    const only = (/** @type {string} */ name) => {
      const { options } = this.schema.at(p.properties.get(name) ?? nothing);
      return options?.length === 1 ? options[0]?.node : undefined;
    };
    for (const x of old?.kind === 'object' ? old.pairs : []) {
      const value = only(x.name);
      const { options } = this.schema.at(p.properties.get(x.name) ?? nothing);
      if (value !== undefined) pairs.push(same(value, x.node) ? x : { ...x, node: value });
      else if (p.properties.has(x.name) ? options?.some((o) => same(o.node, x.node)) ?? true : !closed) pairs.push(x);
    }
    for (const name of p.required) {
      const value = only(name);
      if (value !== undefined && !pairs.some((x) => x.name === name)) pairs.push({ id: -1 - pairs.length, lead: '', node: value, tail: '', name, key: JSON.stringify(name), colon: ':' });
    }
    return { kind: 'object', pairs, inner: '' };
  }
}

/** @type {Schemas} */
const nothing = [];

/** What a value must be, in words. @param {Place} p */
function typeWords(p) {
  const types = [...p.types].map(word).join(' or ');
  const format = textOf(p.said.format);
  const number = (/** @type {string} */ k) => (p.said[k]?.kind === 'literal' && isNumber(p.said[k].text) ? p.said[k].text : undefined);
  const bounds = /** @type {[string, string][]} */ ([['minimum', 'at least'], ['exclusiveMinimum', 'more than'], ['maximum', 'at most'], ['exclusiveMaximum', 'less than'],
    ['multipleOf', 'a multiple of'], ['minLength', 'characters: at least'], ['maxLength', 'characters: at most'], ['minItems', 'items: at least'], ['maxItems', 'items: at most']]);
  return [p.never ? 'no value' : types || (p.options ? 'one of the choices' : 'any value'), format !== undefined && formats.includes(format) ? format : undefined,
    ...bounds.map(([k, w]) => (number(k) === undefined ? undefined : `${w} ${short(number(k) ?? '', 24)}`))].filter((x) => x !== undefined).join(', ');
}

/** Whether a value has a name in it that asks for a secret. @param {JSONNode} node @returns {boolean} */
export const holdsSecret = (node) => children(node).some(([name, x]) => typeof name === 'string' && isSecretName(name) || holdsSecret(x.node));
