// @ts-check
// What a JSON Schema says of one place of a value. A place has a list of schemas that all hold there: allOf, references and
// the chosen variants only make that list longer. Schemas are strangers' work: every loop here has a bound, and what is
// beyond it, or malformed, is said as a problem, so that the place is edited as JSON.
import { children, find, member, parse, same } from './json.js';
import { Judge } from './judge.js';

/**
 * @typedef {import('./json.js').JSONNode} JSONNode
 * @typedef {JSONNode[]} Schemas those that all hold at one place; each list is made once, so that it is a key
 * @typedef {{node: JSONNode, title?: string}} Option
 * @typedef {object} Place what the schemas of a place say together
 * @property {string} [problem] why there is no form for it
 * @property {boolean} never nothing is allowed here
 * @property {Set<string>} types empty for any
 * @property {Map<string, Schemas>} properties
 * @property {Set<string>} required
 * @property {Schemas} more of properties that have no schema of their own
 * @property {Schemas} patterns those of patternProperties
 * @property {Schemas[]} prefix
 * @property {Schemas} items
 * @property {Option[]} [options] the only values that are allowed
 * @property {(JSONNode & {kind: 'array'})[]} groups anyOf and oneOf
 * @property {JSONNode[]} conditions schemas with an `if`
 * @property {[JSONNode, string, JSONNode][]} depends a schema that holds when a name is there
 * @property {Record<string, JSONNode>} said the first of each keyword that only describes
 * @property {boolean} secret
 * @property {Map<string, Schemas>} derived this place with more schemas
 */

export const limits = { fields: 2000, depth: 12, options: 500, variants: 200, references: 16, bytes: 256 * 1024 };
const maxCompared = 100_000;

const described = ['title', 'description', 'default', 'format', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf',
  'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'contentMediaType'];
const kinds = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];
export const anyKind = kinds.filter((k) => k !== 'integer');

/** The items of a list. @param {JSONNode | undefined} node @returns {JSONNode[]} */
export const listed = (node) => (node?.kind === 'array' ? node.items.map((x) => x.node) : []);
/** @param {JSONNode | undefined} node @returns {string[]} */
export const strings = (node) => listed(node).flatMap((x) => (x.kind === 'string' ? [x.value] : []));
/** @param {JSONNode | undefined} node */
export const textOf = (node) => (node?.kind === 'string' ? node.value : undefined);

export class Schema {
  /** @type {string | undefined} why the whole has no form */
  problem;
  /** @type {Schemas} */
  root = [];
  /** @type {WeakMap<Schemas, Place>} */
  #places = new WeakMap();
  /** @type {WeakMap<JSONNode, JSONNode>} */
  #loose = new WeakMap();
  /** @type {WeakMap<Schemas, Set<JSONNode>>} */
  #decided = new WeakMap();
  /** @type {Map<string, JSONNode> | undefined} */
  #named;

  /** @param {string} text */
  constructor(text) {
    this.judge = new Judge((ref) => this.#target(textOf(ref)));
    if (new TextEncoder().encode(text).length > limits.bytes) this.problem = `The schema has more than ${limits.bytes / 1024} kB.`;
    else {
      try {
        this.root = [parse(text).node];
      } catch (e) {
        this.problem = `The schema is not JSON. ${/** @type {Error} */ (e).message}`;
      }
    }
  }

  /** Everything that the schemas of a place say, whatever its value is. @param {Schemas} schemas @returns {Place} */
  at(schemas) {
    const known = this.#places.get(schemas);
    if (known !== undefined) return known;
    /** @type {Place} */
    const p = { never: false, types: new Set(), properties: new Map(), required: new Set(), more: [], patterns: [], prefix: [], items: [], groups: [],
      conditions: [], depends: [], said: Object.create(null), secret: false, derived: new Map() };
    const seen = new Set();
    for (const s of schemas) this.#add(p, seen, s, 0);
    settle(p);
    this.#places.set(schemas, p);
    return p;
  }

  /** @param {Place} p @param {Set<JSONNode>} seen @param {JSONNode} s @param {number} references */
  #add(p, seen, s, references) {
    if (s.kind === 'literal') p.never ||= s.text === 'false';
    if (s.kind !== 'object' || seen.has(s)) return; // a schema that leads to itself adds nothing
    seen.add(s);
    if (references > limits.references) {
      p.problem ??= `References lead more than ${limits.references} times to another one.`;
      return;
    }
    for (const { name, node } of s.pairs) this.#keyword(p, seen, s, references, name, node);
    if (member(s, 'if') !== undefined) p.conditions.push(s);
  }

  /** @param {Place} p @param {Set<JSONNode>} seen @param {JSONNode} s @param {number} references @param {string} name @param {JSONNode} node */
  #keyword(p, seen, s, references, name, node) {
    switch (name) {
      case '$ref': case '$dynamicRef': case '$recursiveRef': {
        const to = this.#target(textOf(node));
        if (to === undefined) p.problem ??= 'A reference leads to nothing in this schema.';
        else this.#add(p, seen, to, references + 1);
        break;
      }
      case 'allOf': for (const x of listed(node)) this.#add(p, seen, x, references); break;
      case 'anyOf': case 'oneOf':
        if (node.kind !== 'array' || node.items.length === 0) break;
        p.groups.push(node);
        break;
      case 'type': narrow(p, node.kind === 'string' ? [node.value] : strings(node)); break;
      case 'const': choose(p, [{ node }]); break;
      case 'enum': choose(p, listed(node).map((x) => ({ node: x }))); break;
      case 'properties': for (const [key, x] of children(node)) append(p.properties, String(key), x.node); break;
      case 'required': for (const x of strings(node)) p.required.add(x); break;
      case 'additionalProperties': p.more.push(node); break;
      case 'patternProperties': p.patterns.push(...children(node).map(([, x]) => x.node)); break;
      case 'prefixItems': listed(node).forEach((x, i) => (p.prefix[i] ??= []).push(x)); break;
      case 'items':
        if (node.kind !== 'array') p.items.push(node);
        else listed(node).forEach((x, i) => (p.prefix[i] ??= []).push(x));
        break;
      case 'additionalItems': if (member(s, 'items')?.kind === 'array') p.items.push(node); break;
      case 'dependentSchemas': case 'dependencies':
        for (const [key, x] of children(node)) if (x.node.kind === 'object') p.depends.push([s, String(key), x.node]);
        break;
      case 'writeOnly': p.secret ||= node.kind === 'literal' && node.text === 'true'; break;
      case '$id': case '$schema': break;
      default: if (described.includes(name)) p.said[name] ??= node;
    }
  }

  /** A place with more schemas; asked again, it is the same list. @param {Schemas} schemas @param {JSONNode[]} more @param {string} key @param {JSONNode} [group] anyOf or oneOf that this decides @returns {Schemas} */
  with(schemas, more, key, group) {
    const { derived } = this.at(schemas);
    const made = derived.get(key) ?? [...schemas, ...more];
    derived.set(key, made);
    this.#decided.set(made, new Set([...this.decided(schemas), ...group ? [group] : []]));
    return made;
  }

  /** The groups whose variant is among the schemas. @param {Schemas} schemas @returns {Set<JSONNode>} */
  decided(schemas) {
    return this.#decided.get(schemas) ?? new Set();
  }

  /**
   * What `if`, `then`, `else` and dependent schemas add to a place for a value. A condition that the page cannot decide,
   * because of a pattern, adds the properties of both branches and none of their duties.
   * @param {Schemas} schemas @param {JSONNode | undefined} value
   */
  resolve(schemas, value) {
    const done = new Set();
    for (let round = 0; round < limits.references; round++) {
      const p = this.at(schemas);
      /** @type {JSONNode[]} */
      const more = [];
      let key = '';
      const add = (/** @type {JSONNode | undefined} */ x) => x && more.push(x);
      for (const s of p.conditions) {
        if (done.has(s)) continue;
        done.add(s);
        const holds = value && this.judge.fits(/** @type {JSONNode} */ (member(s, 'if')), value);
        if (holds !== false) add(holds ? member(s, 'then') : this.#loosened(member(s, 'then')));
        if (holds !== true) add(holds === false ? member(s, 'else') : this.#loosened(member(s, 'else')));
        key += `${holds},`;
      }
      for (const entry of p.depends) {
        const [, name, x] = entry;
        if (done.has(x)) continue;
        done.add(x);
        const there = member(value, name) !== undefined;
        if (there) add(x);
        key += `${there},`;
      }
      if (more.length === 0) return schemas;
      schemas = this.with(schemas, more, `if:${key}`);
    }
    return schemas;
  }

  /** The properties of a schema, none of which must be there. @param {JSONNode | undefined} s */
  #loosened(s) {
    const properties = member(s, 'properties');
    if (s === undefined || properties === undefined) return undefined;
    let made = this.#loose.get(s);
    if (made === undefined) {
      made = { kind: 'object', inner: '', pairs: s.kind === 'object' ? s.pairs.filter((x) => x.name === 'properties') : [] };
      this.#loose.set(s, made);
    }
    return made;
  }

  /** The schema that a reference names, within this document. @param {string | undefined} ref @returns {JSONNode | undefined} */
  #target(ref) {
    const [root] = this.root;
    if (ref === undefined || root === undefined) return undefined;
    const id = textOf(member(root, '$id'));
    if (id !== undefined && ref.startsWith(`${id.replace(/#$/, '')}#`)) ref = ref.slice(ref.indexOf('#'));
    if (ref === '#' || ref === id) return root;
    if (!ref.startsWith('#/')) return this.#names().get(ref);
    try {
      const steps = decodeURIComponent(ref.slice(2)).split('/').map((x) => x.replaceAll('~1', '/').replaceAll('~0', '~'));
      /** @type {JSONNode | undefined} */
      let node = root;
      for (const step of steps) node = find(node, [node?.kind === 'array' ? Number(step) : step]);
      return node;
    } catch {
      return undefined; // a percent sign without its two digits
    }
  }

  /** Anchors and ids, by the reference that names them. */
  #names() {
    if (this.#named !== undefined) return this.#named;
    /** @type {Map<string, JSONNode>} */
    const named = this.#named = new Map();
    const visit = (/** @type {JSONNode} */ node) => {
      for (const key of ['$anchor', '$dynamicAnchor', '$id']) {
        const name = textOf(member(node, key));
        if (name !== undefined) named.set(key === '$id' ? name : `#${name}`, node);
      }
      for (const [, x] of children(node)) visit(x.node);
    };
    for (const s of this.root) visit(s);
    return named;
  }
}

/** @param {Map<string, Schemas>} of @param {string} name @param {JSONNode} s */
function append(of, name, s) {
  const all = of.get(name);
  if (all === undefined) of.set(name, [s]);
  else all.push(s);
}

/** Only these types, of those that were allowed. @param {Place} p @param {string[]} types */
function narrow(p, types) {
  const known = types.filter((t) => kinds.includes(t));
  if (known.length === 0) return;
  const is = (/** @type {string} */ a, /** @type {string[]} */ of) => of.includes(a) || a === 'integer' && of.includes('number');
  const were = [...p.types];
  const both = were.length === 0 ? known : [...new Set([...known.filter((t) => is(t, were)), ...were.filter((t) => is(t, known))])];
  p.never ||= both.length === 0;
  p.types = new Set(both.includes('number') ? both.filter((t) => t !== 'integer') : both);
}

/** Only these values, of those that were allowed. @param {Place} p @param {Option[]} options */
function choose(p, options) {
  const { options: were } = p;
  const few = were && were.length * options.length <= maxCompared;
  p.options = few ? were.filter((a) => options.some((b) => same(a.node, b.node))) : options;
}

const hints = { object: ['properties', 'required', 'more', 'patterns', 'depends'], array: ['prefix', 'items'] };

/** What follows from the keywords together. @param {Place} p */
function settle(p) {
  for (const group of [...p.groups]) {
    const titled = listed(group).map((s) => titledConst(s));
    if (titled.every((x) => x !== undefined)) {
      choose(p, titled);
      p.groups.splice(p.groups.indexOf(group), 1);
    } else if (group.items.length > limits.variants) p.problem ??= `It has ${group.items.length} variants, more than ${limits.variants}.`;
  }
  if (p.types.size === 0) {
    const said = Object.keys(p.said).join();
    if (hints.object.some((k) => size(p, k) > 0)) p.types.add('object');
    else if (hints.array.some((k) => size(p, k) > 0) || /Items/.test(said)) p.types.add('array');
    else if (/Length|format|content/.test(said)) p.types.add('string');
    else if (/imum|multiple/.test(said)) p.types.add('number');
  }
  p.secret ||= textOf(p.said.format) === 'password';
}

/** @param {Place} p @param {string} name */
function size(p, name) {
  const of = /** @type {any} */ (p)[name];
  return of.size ?? of.length;
}

/** The option that a variant is, if it allows one value and says no more than what that is called. @param {JSONNode} s @returns {Option | undefined} */
function titledConst(s) {
  const node = member(s, 'const');
  if (node === undefined || s.kind !== 'object' || s.pairs.some((x) => !['const', 'title', 'description', 'type'].includes(x.name))) return undefined;
  return { node, title: textOf(member(s, 'title')) ?? textOf(member(s, 'description')) };
}
