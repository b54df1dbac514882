// @ts-check
// Results that arrive in parts: an async iterable, such as an async generator or a ReadableStream. The result is what the iterator
// returns at its end, or else all of its parts.

import { fill } from './blocks.js';
import { targets } from './dialects/events.js';
import { encode, isObject } from './encode.js';
import { typeError } from './errors.js';
import { NativePromise, NativeSet, apply, own, promiseThen, setAdd, setDelete, setForEach, setSize, slice, timeout } from './natives.js';
import { report } from './replies.js';

/** Of a result: how many parts, and how many bytes of JSON text without the quotes of strings, which are one string together. */
const ceiling = { parts: 10_000, bytes: 1024 * 1024 };
const quotes = 2;

/** What fill puts around what is nothing but binary. */
const contentStart = '{"content":[';
const contentEnd = ']}';
const content = contentStart.length + contentEnd.length;

/** How long an iterator may take to close, in milliseconds. */
const patience = 1000;

/** The iterators that are closing. @type {Set<Promise<any>>} */
const closing = new NativeSet();

/**
 * collect takes the parts of a call's result, one after another, and tells of each.
 * @param {Call} call
 * @param {any} iterable
 * @param {Function} method that makes its iterator
 * @returns {Promise<Encoded>}
 */
export async function collect(call, iterable, method) {
  const iterator = apply(method, iterable, []);
  if (!isObject(iterator)) throw typeError('the iterator of the result is not an object');
  const { next } = iterator;
  const soFar = { list: '', text: '', bytes: 0, count: 0, strings: 0, blocks: true };
  if (!targets.native) call.parts = { __proto__: null, count: 0, told: 0, last: '', rests: false };
  for (;;) {
    call.iterator = null; // what fails by itself is not closed
    const coming = apply(next, iterator, []);
    call.iterator = iterator;
    const { done, value } = await own(taken(call, coming));
    if (call.done) return writtenAs('undefined', '', 0);
    if (done) return value === undefined ? fitting(together(soFar), call.maxBytes) : written(value, call.maxBytes, 'result');
    if (soFar.count === ceiling.parts) return tooMany();
    const room = ceiling.bytes - soFar.bytes + (typeof value === 'string' ? quotes : 0);
    const part = await own(written(value, room, `parts[${soFar.count}]`));
    if (part.kind === 'too_large') return tooMany();
    if (call.done || (part.kind !== 'ok' && part.kind !== 'undefined')) return part;
    add(soFar, value, part);
    if (call.parts === null) continue;
    call.parts.count = soFar.count;
    call.parts.last = part.text;
    report(call);
  }
}

/**
 * taken reads one step of an iterator. An iterator that fails, or is at its end, has closed itself.
 * @param {Call} call
 * @param {any} coming
 */
async function taken(call, coming) {
  try {
    const step = await coming;
    if (!isObject(step)) throw typeError('the iterator of the result gave something that is not an object');
    const done = !!step.done;
    const { value } = step;
    if (done) call.iterator = null;
    return { __proto__: null, done, value };
  } catch (error) {
    call.iterator = null;
    throw error;
  }
}

/**
 * @param {any} value
 * @param {number} max
 * @param {string} root
 * @returns {Promise<Encoded>}
 */
async function written(value, max, root) {
  const encoded = encode(value, { max, lenient: false, root });
  if (encoded.kind === 'undefined') return writtenAs('undefined', 'null', 4);
  return encoded.parts === null ? encoded : { __proto__: null, ...await own(fill(encoded, max)), parts: encoded.bytes === 0 ? encoded.parts : null };
}

/**
 * @param {'ok' | 'undefined'} kind
 * @param {string} text
 * @param {number} bytes
 * @returns {Encoded}
 */
const writtenAs = (kind, text, bytes) => ({ __proto__: null, kind, text, bytes, message: '', error: undefined, parts: null });

/**
 * @param {string} message
 * @returns {Encoded}
 */
const tooLarge = (message) => ({ __proto__: null, kind: 'too_large', text: '', bytes: 0, message, error: undefined, parts: null });

const tooMany = () => tooLarge(`parts: more than ${ceiling.parts}, or longer than ${ceiling.bytes} bytes`);

/**
 * @param {Encoded} encoded
 * @param {number} max
 */
const fitting = (encoded, max) => (encoded.bytes > max ? tooLarge(`longer than ${max} bytes`) : encoded);

/**
 * add puts a part to the others. One that is binary is a block of content.
 * @param {{list: string, text: string, bytes: number, count: number, strings: number, blocks: boolean}} soFar
 * @param {any} value
 * @param {Encoded} part
 */
function add(soFar, value, part) {
  const block = part.parts !== null;
  const string = typeof value === 'string';
  const text = block ? slice(part.text, contentStart.length, -contentEnd.length) : part.text;
  soFar.list += (soFar.count++ === 0 ? '' : ',') + text;
  soFar.bytes += part.bytes - (block ? content : 0) - (string ? quotes : 0);
  soFar.blocks &&= block;
  if (string && ++soFar.strings === soFar.count) soFar.text += slice(text, 1, -1);
}

/**
 * together is the result of an iterator that returned nothing: strings are one, everything else is a list.
 * @param {{list: string, text: string, bytes: number, count: number, strings: number, blocks: boolean}} soFar
 * @returns {Encoded}
 */
function together({ list, text, bytes, count, strings, blocks }) {
  if (count === 0) return writtenAs('undefined', '', 0);
  if (strings === count) return writtenAs('ok', `"${text}"`, bytes + quotes);
  if (blocks) return writtenAs('ok', contentStart + list + contentEnd, bytes + count - 1 + content);
  return writtenAs('ok', `[${list}]`, bytes + strings * quotes + count + 1);
}

/**
 * closeParts tells the iterator of a call that ended that no more parts are wanted: once, and it has a second to close.
 * @param {Call} call
 */
export function closeParts(call) {
  const closes = call.iterator;
  if (closes === null) return;
  call.iterator = null;
  const over = own(new NativePromise((resolve) => {
    timeout(resolve, patience);
    const returned = own(new NativePromise((settle) => settle(closes.return?.())));
    promiseThen(returned, resolve, resolve);
  }));
  setAdd(closing, over);
  promiseThen(over, () => setDelete(closing, over));
}

/**
 * closed returns the value, or a promise of it while iterators are closing.
 * @template T
 * @param {T} value
 * @returns {T | Promise<T>}
 */
export function closed(value) {
  let left = setSize(closing);
  if (left === 0) return value;
  return own(new NativePromise((resolve) => setForEach(closing, (/** @type {Promise<any>} */ over) => promiseThen(over, () => {
    if (--left === 0) resolve(value);
  }))));
}
