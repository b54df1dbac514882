// @ts-check
// JSON text as a tree that prints as it was read. No value becomes a JavaScript number: 9007199254740993, 1.10, the order
// of names, escapes and blanks stay as they are written. Trees are never changed: an edit makes a new one that shares
// the rest. A name that an object has twice makes the text invalid, as it does at the server: nobody could say which
// of the two values counts.

/**
 * @typedef {{kind: 'object', pairs: Pair[], inner: string}} ObjectNode `inner` is the blank space of an empty one
 * @typedef {{kind: 'array', items: Item[], inner: string}} ArrayNode
 * @typedef {{kind: 'string', text: string, value: string}} StringNode
 * @typedef {{kind: 'literal', text: string}} LiteralNode a number, true, false or null
 * @typedef {{kind: 'bad', text: string, problem: string}} BadNode something that a person typed and that is not a value
 * @typedef {ObjectNode | ArrayNode | StringNode | LiteralNode | BadNode} JSONNode
 * @typedef {{id: number, lead: string, node: JSONNode, tail: string}} Item a value with the blank space around it
 * @typedef {Item & {name: string, key: string, colon: string}} Pair `key` is the name as it is written
 * @typedef {(string | number)[]} Path names and indexes, from the root
 */

const maxDepth = 200; // as at the server
let lastID = 0;

/** @param {JSONNode} node @param {string} [lead] @param {string} [tail] @returns {Item} */
const item = (node, lead = '', tail = '') => ({ id: ++lastID, lead, node, tail });

/** @param {string} value @returns {StringNode} */
export const stringNode = (value) => ({ kind: 'string', text: JSON.stringify(value), value });

/** @param {string} text @returns {LiteralNode} */
export const literal = (text) => ({ kind: 'literal', text });

/** @param {string} text @param {string} problem @returns {BadNode} */
export const bad = (text, problem) => ({ kind: 'bad', text, problem });

const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const blank = /[ \t\n\r]*/y;

/** Whether a text is a number of JSON. @param {string} text */
export const isNumber = (text) => /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text);

/**
 * Reads one JSON text. A fault is a SyntaxError with its line and column.
 * @param {string} text
 * @returns {Item}
 */
export function parse(text) {
  let at = 0;
  /** @param {string} why @param {number} [where] @returns {never} */
  const fail = (why, where = at) => {
    const lines = text.slice(0, where).split('\n');
    throw new SyntaxError(`Line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}: ${why}`);
  };
  /** @param {RegExp} what */
  const take = (what) => {
    what.lastIndex = at;
    const found = what.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const blanks = () => take(blank) ?? '';
  const string = () => {
    const from = at++;
    while (text[at] !== '"') {
      if (at >= text.length) fail('this text has no end.', from);
      at += text[at] === '\\' ? 2 : 1;
    }
    const written = text.slice(from, ++at);
    try {
      return { written, value: /** @type {string} */ (JSON.parse(written)) };
    } catch {
      return fail('this text has a character that must be escaped, or an escape that does not exist.', from);
    }
  };
  /** @param {string} end @param {() => void} member */
  const members = (end, member) => {
    at++;
    const inner = blanks();
    if (text[at] === end) return at++, inner;
    at -= inner.length;
    for (;;) {
      member();
      if (text[at] === end) return at++, '';
      if (text[at] !== ',') fail(`expected "," or "${end}".`);
      at++;
    }
  };
  /** @param {number} depth @returns {JSONNode} */
  const value = (depth) => {
    if (depth > maxDepth) fail(`nested deeper than ${maxDepth} levels.`);
    switch (text[at]) {
      case '{': {
        /** @type {Pair[]} */
        const pairs = [];
        const names = new Set();
        const inner = members('}', () => {
          const lead = blanks();
          if (text[at] !== '"') fail('expected a name in double quotes.');
          const from = at;
          const { written, value: name } = string();
          if (names.has(name)) fail('this name is there twice.', from);
          names.add(name);
          const before = blanks();
          if (text[at] !== ':') fail('expected ":".');
          at++;
          const colon = `${before}:${blanks()}`;
          pairs.push({ ...item(value(depth + 1), lead, blanks()), name, key: written, colon });
        });
        return { kind: 'object', pairs, inner };
      }
      case '[': {
        /** @type {Item[]} */
        const items = [];
        const inner = members(']', () => {
          const lead = blanks();
          items.push(item(value(depth + 1), lead, blanks()));
        });
        return { kind: 'array', items, inner };
      }
      case '"': {
        const { written, value } = string();
        return { kind: 'string', text: written, value };
      }
    }
    return literal(take(scalar) ?? fail(at < text.length ? 'expected a value: an object, a list, a text in double quotes, a number, true, false or null.' : 'the text ends where a value is expected.'));
  };
  const lead = blanks();
  const root = item(value(0), lead, blanks());
  return at < text.length ? fail('nothing may stand behind the value.') : root;
}

/** The text of a value. @param {JSONNode} node @returns {string} */
export function print(node) {
  switch (node.kind) {
    case 'object':
      return `{${node.inner}${node.pairs.map((p) => p.lead + p.key + p.colon + print(p.node) + p.tail).join(',')}}`;
    case 'array':
      return `[${node.inner}${node.items.map(printItem).join(',')}]`;
  }
  return node.text;
}

/** @param {Item} i */
export const printItem = (i) => i.lead + print(i.node) + i.tail;

/** The first thing that is not a value, with its pointer. @param {JSONNode} node @param {string} [pointer] @returns {{pointer: string, problem: string} | undefined} */
export function fault(node, pointer = '') {
  if (node.kind === 'bad') return { pointer, problem: node.problem };
  for (const [step, x] of children(node)) {
    const found = fault(x.node, deeper(pointer, step));
    if (found !== undefined) return found;
  }
}

/** @param {JSONNode} node @returns {[string | number, Item][]} */
export function children(node) {
  if (node.kind === 'object') return node.pairs.map((p) => [p.name, p]);
  return node.kind === 'array' ? node.items.map((x, i) => [i, x]) : [];
}

/** A JSON pointer with one more step. @param {string} pointer @param {string | number} step */
export const deeper = (pointer, step) => `${pointer}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** The member of an object with that name. @param {JSONNode | undefined} node @param {string} name */
export const member = (node, name) => (node?.kind === 'object' ? node.pairs.find((p) => p.name === name)?.node : undefined);

/**
 * What a value is: object, array, string, number, boolean, null, or undefined for what is not a value.
 * @param {JSONNode | undefined} node
 */
export function kindOf(node) {
  if (node?.kind !== 'literal') return node?.kind === 'bad' ? undefined : node?.kind;
  return node.text === 'null' ? 'null' : node.text === 'true' || node.text === 'false' ? 'boolean' : 'number';
}

/** A number in one form: 1.0, 1 and 10e-1 are the same. @param {string} text */
function canonical(text) {
  const [, sign, whole, part = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE](.+))?$/.exec(text) ?? [];
  if (whole === undefined) return text;
  const digits = (whole + part).replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  return short === '' ? '0' : `${sign}${short}e${BigInt(exponent) - BigInt(part.length) + BigInt(digits.length - short.length)}`;
}

/** Whether two values are equal, however they are written. @param {JSONNode | undefined} a @param {JSONNode | undefined} b @returns {boolean} */
export function same(a, b) {
  if (a === b) return true;
  if (a?.kind === 'string' && b?.kind === 'string') return a.value === b.value;
  if (a?.kind === 'literal' && b?.kind === 'literal') return canonical(a.text) === canonical(b.text);
  if (a?.kind === 'array' && b?.kind === 'array') return a.items.length === b.items.length && a.items.every((x, i) => same(x.node, b.items[i]?.node));
  if (a?.kind !== 'object' || b?.kind !== 'object' || a.pairs.length !== b.pairs.length) return false;
  const of = new Map(b.pairs.map((p) => [p.name, p.node]));
  return a.pairs.every((p) => same(p.node, of.get(p.name)));
}

/** @type {WeakMap<JSONNode, unknown>} */
const plains = new WeakMap();

/** A value for a validator: numbers are rounded, and nothing that is sent is made of it. @param {JSONNode} node @returns {unknown} */
export function plain(node) {
  if (node.kind === 'string') return node.value;
  if (node.kind === 'bad') return NaN;
  if (node.kind === 'literal') return JSON.parse(node.text);
  if (!plains.has(node)) {
    const made = node.kind === 'array' ? node.items.map((x) => plain(x.node)) : Object.create(null);
    if (node.kind === 'object') for (const p of node.pairs) made[p.name] = plain(p.node);
    plains.set(node, made);
  }
  return plains.get(node);
}

/** The value at a path. @param {JSONNode | undefined} node @param {Path} path @returns {JSONNode | undefined} */
export function find(node, path) {
  for (const step of path) node = typeof step === 'number' ? node?.kind === 'array' ? node.items[step]?.node : undefined : member(node, step);
  return node;
}

/**
 * An item with another value at a path, undefined for none. A new member stands before the first one that comes later in
 * `order`; blanks are those of its neighbors.
 * @template {Item} T
 * @param {T} i @param {Path} path @param {JSONNode | undefined} value @param {string[]} [order]
 * @returns {T}
 */
export function put(i, path, value, order = []) {
  const [step, ...rest] = path;
  if (step === undefined) return value === undefined ? i : { ...i, node: value };
  const { node } = i;
  if (node.kind === 'array' && typeof step === 'number') {
    const old = node.items[step];
    return { ...i, node: { ...node, ...list(node, node.items, step, old, old === undefined ? value && item(value) : changed(old)) } };
  }
  if (node.kind !== 'object' || typeof step !== 'string') return i;
  let index = node.pairs.findIndex((p) => p.name === step);
  const old = node.pairs[index];
  if (old === undefined) {
    const later = new Set(order.slice(order.indexOf(step) + 1 || order.length));
    index = node.pairs.findIndex((p) => later.has(p.name));
    if (index < 0) index = node.pairs.length;
  }
  const beside = node.pairs[0];
  const made = old ? changed(old) : value && { ...item(value), name: step, key: JSON.stringify(step), colon: beside?.colon ?? ':' };
  return { ...i, node: { ...node, ...list(node, node.pairs, index, old, made) } };

  /** @template {Item} U @param {U} x */
  function changed(x) {
    return rest.length === 0 && value === undefined ? undefined : put(x, rest, value, order);
  }
}

/**
 * @template {Item} T
 * @param {ObjectNode | ArrayNode} node @param {T[]} all @param {number} index @param {T | undefined} old @param {T | undefined} made
 */
function list(node, all, index, old, made) {
  const next = [...all];
  const [first, last] = [all[0], all.at(-1)];
  const [second, after, before] = [all[1], next[index + 1], next[index - 1]];
  if (old === undefined && made !== undefined) {
    next.splice(index, 0, { ...made, lead: first?.lead ?? '', tail: index === all.length ? last?.tail ?? '' : '' });
    if (first !== undefined && index === 0) next[1] = { ...first, lead: second?.lead ?? first.lead };
    if (before !== undefined && index === all.length) next[index - 1] = { ...before, tail: all.length > 1 ? first?.tail ?? '' : '' };
    if (before !== undefined && index > 0) next[index] = { .../** @type {T} */ (next[index]), lead: (second ?? before).lead };
  } else if (made !== undefined) {
    next[index] = made;
  } else if (old !== undefined) {
    next.splice(index, 1);
    if (after !== undefined && index === 0) next[0] = { ...after, lead: old.lead };
    if (before !== undefined && index === all.length - 1) next[index - 1] = { ...before, tail: old.tail };
  }
  return { inner: next.length === 0 ? node.inner : '', [node.kind === 'object' ? 'pairs' : 'items']: next };
}

/** The same values with blanks of our own: one member a line. @template {Item} T @param {T} i @param {string} [indent] @param {string} [lead] @param {string} [tail] @returns {T} */
export function tidy(i, indent = '\n', lead = '', tail = '') {
  const { node } = i;
  const inside = `${indent}  `;
  /** @template {Item} U @param {U[]} all */
  const each = (all) => all.map((x, n) => tidy(x, inside, inside, n === all.length - 1 ? indent : ''));
  if (node.kind === 'object') return { ...i, lead, tail, node: { ...node, inner: '', pairs: each(node.pairs).map((p) => ({ ...p, colon: ': ' })) } };
  return { ...i, lead, tail, node: node.kind === 'array' ? { ...node, inner: '', items: each(node.items) } : node };
}

/** The object or list `now`, with the spelling of `was` if both have the same members in the same order. @param {JSONNode} now @param {JSONNode} was @returns {JSONNode} */
export function spelled(now, was) {
  const [a, b] = [children(now), children(was)];
  if (now.kind !== was.kind || a.length !== b.length || !a.every(([step, x], i) => step === b[i]?.[0] && print(x.node) === print(/** @type {Item} */ (b[i][1]).node))) return now;
  /** @template {Item} U @param {U[]} all */
  const marked = (all) => all.map((x, i) => ({ ...x, id: a[i]?.[1].id ?? x.id }));
  return was.kind === 'object' ? { ...was, pairs: marked(was.pairs) } : was.kind === 'array' ? { ...was, items: marked(was.items) } : was;
}
