// @ts-check
// From a value of the page to JSON text. The text is written directly, value by value: there is no intermediate copy and no
// object of ours that a polluted `toJSON` could reach, and writing stops at the first byte over the limit.

import {
  ArrayPrototype, FunctionPrototype, NativeUint8Array, ObjectPrototype, append, apply, bigintValueOf, booleanValueOf, bufferLength, charCodeAt,
  encodeText, exec, getPrototypeOf, hasOwn, isArray, isRawJSON, isView, jsonStringify, mapForEach, mapSize, members,
  numberValueOf, objectKeys, objectToString, setForEach, setSize, slice, stringValueOf, textEncoder, typedArrayLength,
  typedArrayName,
} from './natives.js';

const [blobSize] = members('Blob', 'size');

/**
 * What tells a built-in from an object that only carries its tag: the method throws for anything else. For boxed primitives it
 * also returns the primitive.
 * @type {{[tag: string]: (self: any) => any}}
 */
const brands = {
  __proto__: /** @type {any} */ (null), Map: mapSize, Set: setSize, ArrayBuffer: bufferLength, Number: numberValueOf,
  String: stringValueOf, Boolean: booleanValueOf, BigInt: bigintValueOf, Blob: blobSize, File: blobSize,
};
for (const type of ['ImageBitmap', 'ImageData', 'OffscreenCanvas', 'HTMLCanvasElement', 'HTMLImageElement']) {
  [brands[type]] = members(type, 'width');
}
/** What keeps all that it is where no JSON can reach, whatever members a page adds to it. */
const [nodeType] = members('Node', 'nodeType');
const [eventType] = members('Event', 'type');
/** Records of the language and the browser that may be empty. */
const records = { __proto__: /** @type {any} */ (null), Object: true, Arguments: true, Module: true, Storage: true, DOMStringMap: true };
/** What is said to whoever returned what is no JSON. */
const advices = {
  __proto__: /** @type {any} */ (null), Response: '; return what it holds, such as await response.json()', Promise: '; await it',
  Headers: '; return Object.fromEntries(headers)', FormData: '; return Object.fromEntries(data)', URLSearchParams: '; return Object.fromEntries(params)',
};
const maxDepth = 200;
const maxPrototypes = 1000;
const maxPathName = 100;
const maxLoop = 256;

/**
 * encode returns {kind: 'ok', text, bytes} (bytes: of the text in UTF-8), or
 *   'undefined'  there is no JSON for the value itself
 *   'invalid'    message says what and where
 *   'too_large'  the text would be longer than max bytes
 *   'threw'      code of the page threw `error` (a getter, toJSON, a proxy); message says where
 * With `lenient`, functions and symbols count as undefined, as JSON.stringify has it. Otherwise what is binary leaves a gap:
 * `parts` has it and the text in front of it, the last one first; `text` is what follows.
 * @param {any} value
 * @param {{max: number, lenient: boolean, root: string}} options root: what a path starts with
 * @returns {Encoded}
 */
export function encode(value, { max, lenient, root }) {
  /** @type {EncodeJob} */
  const job = { out: '', bytes: 0, max, lenient, root, trail: null, fault: null, parts: null };
  try {
    const ready = prepare(job, value, '');
    if (ready !== undefined) emit(job, ready);
    const kind = ready === undefined ? 'undefined' : 'ok';
    return { __proto__: null, kind, text: job.out, bytes: job.bytes, message: '', error: undefined, parts: job.parts };
  } catch (error) {
    const { fault } = job;
    const ours = fault !== null && error === fault;
    const message = ours ? `${pathOf(job)}: ${fault.message}` : pathOf(job);
    return { __proto__: null, kind: ours ? fault.kind : 'threw', text: '', bytes: 0, message, error, parts: null };
  }
}

/**
 * utf8Length counts the bytes of text in UTF-8; text has no lone surrogates. Long texts are counted by the browser: a loop that
 * runs for the first time is interpreted, 10 ms for 1 MB.
 * @param {string} text
 */
export function utf8Length(text) {
  if (text.length > maxLoop) return typedArrayLength(encodeText(textEncoder, text));
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = charCodeAt(text, i);
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

/**
 * prepare applies toJSON. undefined means: nothing to write.
 * @param {EncodeJob} job
 * @param {any} value
 * @param {string} key
 */
function prepare(job, value, key) {
  let result = value;
  if (isObject(result)) {
    const method = methodOf(result, 'toJSON');
    if (method !== undefined) result = apply(method, result, [key]);
  }
  if (typeof result !== 'function' && typeof result !== 'symbol') return result;
  if (!job.lenient) fail(job, 'invalid', `a ${typeof result}`);
}

/**
 * methodOf returns a method of the object, unless it comes from the prototype of all objects, lists or functions: what sits
 * there was not meant by whoever made this value.
 * @param {any} object
 * @param {PropertyKey} key
 * @returns {Function | undefined}
 */
export function methodOf(object, key) {
  let holder = object;
  for (let i = 0; holder !== null && holder !== ObjectPrototype && holder !== ArrayPrototype && holder !== FunctionPrototype && i < maxPrototypes; i++) {
    if (hasOwn(holder, key)) return typeof object[key] === 'function' ? object[key] : undefined;
    holder = getPrototypeOf(holder);
  }
}

/**
 * @param {EncodeJob} job
 * @param {any} value prepared
 */
function emit(job, value) {
  if (typeof value === 'string') return putString(job, value);
  if (typeof value === 'bigint') return put(job, `"${value}"`);
  if (typeof value !== 'object' || value === null) {
    return put(job, typeof value === 'boolean' || (typeof value === 'number' && value - value === 0) ? `${value}` : 'null');
  }
  if (isRawJSON?.(value)) return put(job, value.rawJSON);
  for (let up = job.trail; up !== null; up = up.up) {
    if (up.holder === value) fail(job, 'invalid', 'circular reference');
  }
  if (job.trail !== null && job.trail.depth >= maxDepth) fail(job, 'invalid', `nested deeper than ${maxDepth} levels`);
  emitObject(job, value);
}

/**
 * @param {EncodeJob} job
 * @param {any} value
 */
function emitObject(job, value) {
  if (isArray(value)) return emitList(job, value, value, value.length);
  const prototype = getPrototypeOf(value);
  if (prototype === ObjectPrototype || prototype === null) return emitRecord(job, value, value);
  if (isView(value) && typedArrayName(value) !== undefined) return emitList(job, value, value, typedArrayLength(value));
  const tag = slice(objectToString(value), 8, -1);
  if (isFailure(tag)) return emitRecord(job, value, recordOf(value));
  if (brands[tag] === undefined || !is(brands[tag], value)) {
    if (!job.lenient) refuseUnreadable(job, value, tag);
    return emitRecord(job, value, value);
  }
  /** @type {any[]} */
  let list = [];
  switch (tag) {
    case 'Map': mapForEach(value, (/** @type {any} */ item, /** @type {any} */ key) => append(list, [key, item])); break;
    case 'Set': setForEach(value, (/** @type {any} */ item) => append(list, item)); break;
    case 'ArrayBuffer': list = /** @type {any} */ (new NativeUint8Array(value)); break;
    case 'Number': case 'String': case 'Boolean': case 'BigInt': return emit(job, brands[tag](value));
    default:
      if (job.lenient) return emitRecord(job, value, value);
      job.parts = { tag, value, text: job.out, path: pathOf(job), next: job.parts };
      job.out = '';
      return;
  }
  emitList(job, value, list, tag === 'ArrayBuffer' ? typedArrayLength(list) : list.length);
}

/** @param {string} tag */
const isFailure = (tag) => tag === 'Error' || tag === 'DOMException';

/**
 * recordOf returns what is told of an error: its name and message, its own plain members, its cause and its parts.
 * @param {any} error
 */
function recordOf(error) {
  const { name, message } = error;
  /** @type {any} */
  const record = { __proto__: null, name: typeof name === 'string' ? name : 'Error', message: typeof message === 'string' ? message : '' };
  const keys = objectKeys(error);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (key !== 'name' && key !== 'message' && key !== 'stack' && isTold(error[key], false)) record[key] = error[key];
  }
  if (hasOwn(error, 'cause') && isTold(error.cause, true)) record.cause = error.cause;
  if (hasOwn(error, 'errors') && isArray(error.errors)) record.errors = error.errors;
  return record;
}

/**
 * isTold tells whether a member of an error is told with it: what is plain, or, of its cause, an error.
 * @param {any} value
 * @param {boolean} errors
 */
function isTold(value, errors) {
  if (!isObject(value)) return value !== undefined && typeof value !== 'symbol';
  return errors && isFailure(slice(objectToString(value), 8, -1));
}

/**
 * refuseUnreadable fails for what would be an empty object although it is something: a generator, a Response, an element, an object
 * whose class keeps its state private.
 * @param {EncodeJob} job
 * @param {any} value
 * @param {string} tag
 */
function refuseUnreadable(job, value, tag) {
  const built = is(nodeType, value) || is(eventType, value);
  if (!built && objectKeys(value).length > 0) return;
  if (records[tag]) {
    // The prototype of plain objects, of this window or another one, has no prototype itself.
    if (tag !== 'Object' || getPrototypeOf(getPrototypeOf(value)) === null) return;
    fail(job, 'invalid', 'an object of a class without members of its own, which is no JSON; return a plain object, or give its class toJSON');
  }
  const advice = advices[tag] ?? '';
  fail(job, 'invalid', `a value of the kind ${slice(tag, 0, maxPathName)}, which is no JSON${advice}`);
}

/**
 * is tells whether the captured method accepts the value: the only test of a brand that a page cannot fake.
 * @param {(self: any) => any} method
 * @param {any} value
 */
export function is(method, value) {
  try {
    method(value);
    return true;
  } catch {
    return false;
  }
}

/**
 * enter notes in which object the writing is; its keys follow.
 * @param {EncodeJob} job
 * @param {object} holder
 * @returns {Trail}
 */
function enter(job, holder) {
  const up = job.trail;
  return job.trail = { holder, key: null, up, depth: up === null ? 1 : up.depth + 1 };
}

/**
 * @param {EncodeJob} job
 * @param {any} value
 * @param {any} list what it consists of
 * @param {number} length
 */
function emitList(job, value, list, length) {
  const trail = enter(job, value);
  put(job, '[');
  for (let i = 0; i < length; i++) {
    if (i > 0) put(job, ',');
    trail.key = i;
    emit(job, prepare(job, list[i], `${i}`));
  }
  put(job, ']');
  job.trail = trail.up;
}

/**
 * @param {EncodeJob} job
 * @param {any} value
 * @param {any} record what it consists of
 */
function emitRecord(job, value, record) {
  const trail = enter(job, value);
  const keys = objectKeys(record);
  let comma = '';
  put(job, '{');
  for (let i = 0; i < keys.length; i++) {
    const key = trail.key = keys[i];
    const ready = prepare(job, record[key], key);
    if (ready === undefined) continue;
    put(job, comma);
    comma = ',';
    putString(job, key);
    put(job, ':');
    emit(job, ready);
  }
  put(job, '}');
  job.trail = trail.up;
}

/**
 * @param {EncodeJob} job
 * @param {string} text ASCII
 */
function put(job, text) {
  job.bytes += text.length;
  if (job.bytes > job.max) tooLarge(job);
  job.out += text;
}

/**
 * @param {EncodeJob} job
 * @param {string} string
 */
function putString(job, string) {
  if (string.length + 2 > job.max - job.bytes) tooLarge(job);
  const text = jsonStringify(string);
  if (text.length > job.max - job.bytes) tooLarge(job);
  job.bytes += utf8Length(text) - text.length;
  put(job, text);
}

/** @param {EncodeJob} job */
function tooLarge(job) {
  fail(job, 'too_large', `longer than ${job.max} bytes`);
}

/**
 * @param {EncodeJob} job
 * @param {'invalid' | 'too_large'} kind
 * @param {string} message
 * @returns {never}
 */
function fail(job, kind, message) {
  job.fault = { kind, message };
  throw job.fault;
}

/** @param {EncodeJob} job */
function pathOf(job) {
  let path = '';
  for (let { trail } = job; trail !== null; trail = trail.up) path = segment(trail.key) + path;
  return job.root + path;
}

/** @param {string | number | null} key */
function segment(key) {
  if (key === null) return '';
  if (typeof key === 'number') return `[${key}]`;
  const short = slice(key, 0, maxPathName);
  return exec(/^[A-Za-z_$][\w$]*$/, short) ? `.${short}` : `[${jsonStringify(short)}]`;
}

/**
 * isObject tells what WebIDL calls an object.
 * @param {any} value
 */
export function isObject(value) {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
