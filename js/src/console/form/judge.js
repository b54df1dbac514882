// @ts-check
import { validate } from '@cfworker/json-schema';

import { children, kindOf, member, plain, print } from './json.js';

/** @typedef {import('./json.js').JSONNode} JSONNode */

const maxSteps = 60_000;
const maxJudged = 64 * 1024; // characters of a value

// Keywords that the page does not look at: patterns can take for ever, and the others take long or depend on patterns.
const unseen = ['pattern', 'patternProperties', 'propertyNames', 'format', 'uniqueItems', 'unevaluatedProperties', 'unevaluatedItems'];
const ofSchema = ['not', 'if', 'then', 'else', 'items', 'contains', 'additionalProperties', 'additionalItems'];
const ofSchemas = ['properties', 'dependentSchemas', 'allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];

/**
 * Whether values fit schemas, for choosing variants and for `if`. The server judges what is sent. All questions of one plan
 * of the form have one bound of steps, and what was answered once costs nothing.
 */
export class Judge {
  #left = 0;
  /** @type {JSONNode[]} */
  #nodes = [];
  /** @type {{schema: any, weight: number}[]} */
  #made = [];
  /** @type {Map<JSONNode, string>} */
  #ids = new Map();
  /** @type {WeakMap<JSONNode, WeakMap<JSONNode, boolean>>} */
  #known = new WeakMap();
  /** @type {Map<JSONNode, boolean>} */
  #exactly = new Map();
  #lookup;
  #target;

  /** @param {(ref: JSONNode) => JSONNode | undefined} target finds the schema of a reference */
  constructor(target) {
    this.#target = target;
    this.#lookup = new Proxy(Object.create(null), { get: (_, id) => {
      const n = Number(id);
      const { schema, weight } = this.#made[n] ??= this.#simple(/** @type {JSONNode} */ (this.#nodes[n]));
      this.#left -= weight;
      if (this.#left < 0) throw new RangeError('too much to look at');
      return schema;
    } });
  }

  /** Begins a plan. */
  begin() {
    this.#left = maxSteps;
  }

  /**
   * Whether a value fits, as far as the page looks. Undefined where it cannot say.
   * @param {JSONNode} schema @param {JSONNode} value @returns {boolean | undefined}
   */
  mayFit(schema, value) {
    const known = this.#known.get(schema) ?? new WeakMap();
    this.#known.set(schema, known);
    if (known.has(value)) return known.get(value);
    try {
      const size = print(value).length;
      if (size > maxJudged) return undefined;
      this.#left -= size / 1024;
      const { valid } = validate(plain(value), { $ref: this.#id(schema) }, '2020-12', this.#lookup, true);
      known.set(value, valid);
      return valid;
    } catch {
      return undefined; // too much, too deep, or a reference to nothing
    }
  }

  /** As mayFit, and undefined if the schema has keywords that the page does not look at. @param {JSONNode} schema @param {JSONNode} value @returns {boolean | undefined} */
  fits(schema, value) {
    return this.#exact(schema) ? this.mayFit(schema, value) : undefined;
  }

  /** @param {JSONNode} node */
  #id(node) {
    const id = this.#ids.get(node) ?? String(this.#nodes.push(node) - 1);
    this.#ids.set(node, id);
    return id;
  }

  /** Whether the page looks at every keyword of a schema. @param {JSONNode} node @returns {boolean} */
  #exact(node) {
    const known = this.#exactly.get(node);
    if (known !== undefined || node.kind !== 'object') return known ?? true;
    this.#exactly.set(node, true); // for what leads back to it
    const all = node.pairs.every(({ name, node: x }) => {
      if (name === '$ref') return this.#exact(this.#target(x) ?? x);
      if (ofSchemas.includes(name) && (x.kind === 'array' || name === 'properties' || name === 'dependentSchemas')) return children(x).every(([, y]) => this.#exact(y.node));
      return !unseen.includes(name) && (!ofSchema.includes(name) || this.#exact(x));
    });
    this.#exactly.set(node, all);
    return all;
  }

  /** A schema of what the validator needs, each subschema as a reference, which counts. @param {JSONNode} node */
  #simple(node) {
    if (node.kind !== 'object') return { schema: !(node.kind === 'literal' && node.text === 'false'), weight: 1 };
    /** @type {Record<string, unknown>} */
    const s = Object.create(null);
    const ref = (/** @type {JSONNode} */ x) => ({ $ref: this.#id(x) });
    let weight = 1;
    for (const { name, node: x } of node.pairs) {
      weight += 1 + (x.kind === 'object' ? x.pairs.length : x.kind === 'array' ? x.items.length : 0);
      const all = (x.kind === 'array' ? x.items.map((y) => y.node) : []);
      switch (name) {
        case '$ref': { const to = this.#target(x); if (to === undefined) throw new RangeError('leads nowhere'); s.$ref = this.#id(to); break; }
        case 'type': if (x.kind === 'string' || all.length > 0) s.type = plain(x); break;
        case 'const': s.const = plain(x); break;
        case 'enum': if (x.kind === 'array') { s.enum = plain(x); weight += print(x).length / 64; } break;
        case 'required': s.required = all.flatMap((y) => (y.kind === 'string' ? [y.value] : [])); break;
        case 'allOf': case 'anyOf': case 'prefixItems': if (all.length > 0) s[name] = all.map(ref); break;
        case 'oneOf': if (all.length > 0) s[all.every((y) => this.#exact(y)) ? 'oneOf' : 'anyOf'] = all.map(ref); break;
        case 'items': if (x.kind === 'array') s.prefixItems = all.map(ref); else s.items = ref(x); break;
        case 'additionalItems': if (member(node, 'items')?.kind === 'array') s.items = ref(x); break;
        case 'additionalProperties': if (member(node, 'patternProperties') === undefined) s.additionalProperties = ref(x); break;
        case 'not': if (this.#exact(x)) s.not = ref(x); break;
        case 'if': if (this.#exact(x)) { s.if = ref(x); for (const k of ['then', 'else']) { const y = member(node, k); if (y) s[k] = ref(y); } } break;
        case 'contains': s.contains = ref(x); break;
        case 'properties': case 'dependentSchemas': {
          /** @type {Record<string, unknown>} */
          const of = s[name] = Object.create(null);
          for (const [key, y] of children(x)) of[key] = ref(y.node);
          break;
        }
        case 'minimum': case 'maximum': case 'exclusiveMinimum': case 'exclusiveMaximum': case 'multipleOf': case 'minItems': case 'maxItems':
        case 'minProperties': case 'maxProperties': case 'minContains': case 'maxContains':
          if (kindOf(x) === 'number') s[name] = plain(x);
          break;
        case 'minLength': case 'maxLength':
          if (kindOf(x) !== 'number') break;
          s[name] = plain(x);
          weight += 50; // it counts characters
      }
    }
    return { schema: s, weight };
  }
}
