// Made-up schemas and values for the form: what comes in goes out, whatever a person does and undoes.
import { parse, print, printItem, same, stringNode, literal, bad } from '../../../../js/src/console/form/json.js';
import { Form } from '../../../../js/src/console/form/model.js';

/** Numbers that look random, the same for a seed. */
function chance(seed) {
  let state = seed >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  const below = (n) => Math.floor(next() * n);
  return { below, one: (of) => of[below(of.length)], odds: (n) => below(n) === 0 };
}

const names = ['a', 'b', 'c', '__proto__', 'constructor', 'a.b', 'x/y', '', '10', '2', 'password', 'é\u202e', 'toString'];
const texts = ['""', '"x"', '"\\u0041\\n"', '"a\\r\\nb"', '"\\/"', '"\\u202e"', '"2026-02-28"', '"null"', '"\\ud83d\\ude00"'];
const literals = ['0', '-0', '1.10', '9007199254740993', '1e400', '1E-2', 'true', 'false', 'null'];
const blanks = ['', '', '', ' ', '\n  ', '\t'];

/** The text of some value. */
function value(r, depth) {
  const gap = () => r.one(blanks);
  switch (depth > 0 ? r.below(4) : r.below(2)) {
    case 0: return r.one(texts);
    case 1: return r.one(literals);
    case 2: return `[${Array.from({ length: r.below(4) }, () => gap() + value(r, depth - 1) + gap()).join(',')}]`;
  }
  const chosen = names.filter(() => r.odds(3));
  return `{${chosen.map((n) => `${gap()}${JSON.stringify(n)}${gap()}:${gap()}${value(r, depth - 1)}${gap()}`).join(',')}}`;
}

/** The text of some schema. */
function schema(r, depth) {
  if (r.odds(12)) return r.one(['true', 'false', '{}', '{"$ref":"#"}', '{"$ref":"#/$defs/d"}', '{"$ref":"#/nowhere"}', '{"type":7}', '[]', '{"allOf":[{"$ref":"#"}]}']);
  const below = () => (depth > 0 ? schema(r, depth - 1) : r.one(['true', '{"type":"string"}', '{"type":["integer","null"]}', '{"enum":[1,"1",null,1.0]}', '{"type":"string","format":"date"}', '{"const":0}']));
  const list = (n) => `[${Array.from({ length: 1 + r.below(n) }, below).join(',')}]`;
  const map = () => `{${names.filter(() => r.odds(5)).map((n) => `${JSON.stringify(n)}:${below()}`).join(',')}}`;
  const keywords = {
    type: () => r.one(['"object"', '"array"', '"string"', '"number"', '["string","null"]', '["object","array"]', '"boolean"', '"null"']),
    properties: map, patternProperties: () => `{"^(a+)+$":${below()}}`, additionalProperties: below, required: () => `[${JSON.stringify(r.one(names))}]`,
    items: () => (r.odds(3) ? list(2) : below()), prefixItems: () => list(3), allOf: () => list(2), anyOf: () => list(3), oneOf: () => list(3), not: below,
    if: below, then: below, else: below, dependentSchemas: map, enum: () => `[${value(r, 1)},${value(r, 0)}]`, const: () => value(r, 1), pattern: () => '"^(a+)+$"', default: () => value(r, 1),
    title: () => '"T"', format: () => '"date"', minLength: () => '2', uniqueItems: () => 'true', $defs: () => `{"d":${below()}}`,
  };
  const chosen = Object.keys(keywords).filter(() => r.odds(9));
  if (r.odds(2) && !chosen.includes('properties')) chosen.push('properties');
  return `{${chosen.map((k) => `"${k}":${keywords[k]()}`).join(',')}}`;
}

/** Every field, parents first. */
const all = (f) => [f, ...f.children.flatMap(all)];

/** What a person does to a field and undoes. */
function retype(form, field) {
  const { node } = field;
  if (node === undefined) return;
  for (const pick of field.picks) {
    const i = (pick.chosen + 1) % pick.labels.length;
    form.choose(field, pick, i);
    const now = all(form.plan.value).find((f) => f.key === field.key);
    const back = now?.picks.find((p) => p.key === pick.key);
    if (back !== undefined) form.choose(now, back, pick.chosen);
  }
  form.put(field, bad('', 'nothing'));
  if (form.outcome.value.text !== undefined) throw new Error(`what is not a value at ${field.pointer} is sent`);
  if (node.kind === 'string') form.put(field, stringNode(node.value));
  else form.put(field, node.kind === 'literal' ? literal(node.text) : parse(print(node)).node);
}

export async function fuzz(seed, rounds, render) {
  const failures = [];
  let fields = 0;
  for (let i = 0; i < rounds && failures.length < 5; i++) {
    const r = chance(seed + i * 7919);
    const [s, v] = [schema(r, 2), value(r, 3)];
    try {
      const check = (what, form) => {
        const { text, problem } = form.outcome.value;
        if (text !== v) throw new Error(`${what}: ${text ?? problem}`);
      };
      const form = new Form({ schema: s, value: v });
      if (i % 8 === 0) await render(form);
      check('untouched', form);
      form.show('json');
      check('as text', form);
      form.tidy();
      if (!same(parse(form.raw.value).node, parse(v).node)) throw new Error(`tidied: ${form.raw.value}`);
      form.raw.value = v;
      form.show('form');
      check('as fields', form);
      for (const place of all(form.plan.value)) {
        const there = all(form.plan.value);
        const now = there.find((f) => f.pointer === place.pointer);
        // A person chose a variant of what is around it, which has no fields, and whose choice is offered no more.
        if (now === undefined && there.some((f) => f.control !== 'object' && f.control !== 'array' && place.pointer.startsWith(`${f.pointer}/`))) continue;
        if (now === undefined) throw new Error(`${place.pointer} is gone`);
        fields++;
        retype(form, now);
        check(`retyped at ${place.pointer}`, form);
      }
      // Whatever else a person does, what is sent is JSON, and the fields are bounded.
      for (let n = 0; n < 10; n++) {
        const field = r.one(all(form.plan.value));
        const parent = all(form.plan.value).find((f) => f.children.includes(field));
        if (field.node === undefined) form.add(field);
        else if (parent !== undefined && r.odds(2)) form.remove(field);
        else if (field.grows && field.control === 'array') form.grow(field);
        else if (field.grows && field.children.every((c) => c.name !== 'new')) form.grow(field, 'new');
        const { text } = form.outcome.value;
        if (text !== undefined && printItem(parse(text)) !== text || form.plan.value.count > 2000) throw new Error(`after changes: ${text}`);
      }
      if (i % 8 === 0) await render(form);
    } catch (e) {
      failures.push(`seed ${seed}, round ${i}: ${e.message}\n${e.stack?.split('\n').slice(1, 4).join('\n')}\nschema ${s}\nvalue ${v}`);
    }
  }
  return { failures, fields };
}
