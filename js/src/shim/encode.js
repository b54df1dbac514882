// @ts-check
// From a value of the page to JSON text. The text is written directly, value by value: there is no intermediate copy and no
// object of ours that a polluted `toJSON` could reach, and writing stops at the first byte over the limit.

import {
  ArrayPrototype, NativeSet, NativeUint8Array, ObjectPrototype, apply, bigintValueOf, booleanValueOf, bufferLength, charCodeAt,
  getPrototypeOf, hasOwn, isArray, isView, jsonStringify, mapForEach, mapSize, numberValueOf, objectKeys, objectToString,
  setAdd, setDelete, setForEach, setHas, setSize, slice, stringValueOf, typedArrayLength, typedArrayName,
} from './natives.js';

/**
 * What tells a built-in from an object that only carries its tag: the method throws for anything else. For boxed primitives it
 * also gives the primitive.
 * @type {{[tag: string]: (self: any) => any}}
 */
const brands = {
  __proto__: /** @type {any} */ (null), '[object Map]': mapSize, '[object Set]': setSize, '[object ArrayBuffer]': bufferLength,
  '[object Number]': numberValueOf, '[object String]': stringValueOf, '[object Boolean]': booleanValueOf,
  '[object BigInt]': bigintValueOf,
};
const maxDepth = 200;
const maxPrototypes = 1000;
const maxPathName = 100;

/**
 * encode returns {kind: 'ok', text, bytes} (bytes: of the text in UTF-8), or
 *   'undefined'  there is no JSON for the value itself
 *   'invalid'    message says what and where
 *   'too_large'  the text would be longer than max bytes
 *   'threw'      code of the page threw `error` (a getter, toJSON, a proxy); message says where
 * With `lenient`, functions and symbols count as undefined, as JSON.stringify has it.
 * @param {any} value
 * @param {EncodeOptions} options
 * @returns {Encoded}
 */
export function encode(value, options) {
  /** @type {EncodeJob} */
  const job = {
    __proto__: null, out: '', bytes: 0, max: options.max, lenient: options.lenient, failure: null, path: '',
    ancestors: new NativeSet(),
  };
  try {
    const ready = prepare(job, value, '');
    if (ready === undefined) return { __proto__: null, kind: 'undefined', text: '', bytes: 0 };
    emit(job, ready, 1);
    return { __proto__: null, kind: 'ok', text: job.out, bytes: job.bytes };
  } catch (error) {
    const where = options.root + job.path;
    if (job.failure !== null && error === job.failure) {
      return { __proto__: null, kind: job.failure.kind, text: '', bytes: 0, message: `${where}: ${job.failure.message}` };
    }
    return { __proto__: null, kind: 'threw', text: '', bytes: 0, message: where, error };
  }
}

/**
 * utf8Length counts the bytes of text in UTF-8; text has no lone surrogates.
 * @param {string} text
 */
export function utf8Length(text) {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = charCodeAt(text, i);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

/**
 * prepare applies toJSON and unwraps boxed primitives. undefined means: nothing to write.
 * @param {EncodeJob} job
 * @param {any} value
 * @param {string} key
 */
function prepare(job, value, key) {
  let result = value;
  if (typeof result === 'object' && result !== null) {
    const method = toJSONOf(result);
    if (method !== undefined) result = apply(method, result, [key]);
  }
  if (typeof result === 'function' || typeof result === 'symbol') {
    if (job.lenient) return undefined;
    fail(job, 'invalid', typeof result === 'function' ? 'a function' : 'a symbol');
  }
  return result;
}

/**
 * toJSONOf returns the object's toJSON method, unless it comes from Object.prototype or Array.prototype: what sits there was
 * not meant by whoever made this value.
 * @param {any} object
 */
function toJSONOf(object) {
  let holder = object;
  for (let i = 0; holder !== null && holder !== ObjectPrototype && holder !== ArrayPrototype && i < maxPrototypes; i++) {
    if (hasOwn(holder, 'toJSON')) {
      const method = object.toJSON;
      return typeof method === 'function' ? method : undefined;
    }
    holder = getPrototypeOf(holder);
  }
  return undefined;
}

/**
 * @param {EncodeJob} job
 * @param {any} value prepared, not undefined
 * @param {number} depth
 */
function emit(job, value, depth) {
  switch (typeof value) {
    case 'string': return putString(job, value);
    case 'number': return putNumber(job, value);
    case 'boolean': return put(job, value ? 'true' : 'false');
    case 'bigint': return put(job, `"${value}"`);
    case 'object': break;
    default: return put(job, 'null');
  }
  if (value === null) return put(job, 'null');
  if (setHas(job.ancestors, value)) fail(job, 'invalid', 'circular reference');
  if (depth > maxDepth) fail(job, 'invalid', `nested deeper than ${maxDepth} levels`);
  setAdd(job.ancestors, value);
  emitObject(job, value, depth);
  setDelete(job.ancestors, value);
}

/**
 * @param {EncodeJob} job
 * @param {any} value
 * @param {number} depth
 */
function emitObject(job, value, depth) {
  if (isArray(value)) return emitList(job, value, value.length, depth);
  const prototype = getPrototypeOf(value);
  if (prototype === ObjectPrototype || prototype === null) return emitRecord(job, value, depth);
  if (isView(value) && typedArrayName(value) !== undefined) return emitList(job, value, typedArrayLength(value), depth);
  const tag = objectToString(value);
  if (tag === '[object Error]' || tag === '[object DOMException]') return emitError(job, value);
  const brand = brands[tag];
  if (brand !== undefined && is(brand, value)) {
    switch (tag) {
      case '[object Map]': return emitEach(job, mapForEach, value, depth);
      case '[object Set]': return emitEach(job, setForEach, value, depth);
      case '[object ArrayBuffer]': return emitList(job, new NativeUint8Array(value), brand(value), depth);
      default: return emit(job, brand(value), depth);
    }
  }
  return emitRecord(job, value, depth);
}

/**
 * is tells whether the captured method accepts the value: the only test of a brand that a page cannot fake.
 * @param {(self: any) => any} method
 * @param {any} value
 */
function is(method, value) {
  try {
    method(value);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {EncodeJob} job
 * @param {any} list
 * @param {number} length
 * @param {number} depth
 */
function emitList(job, list, length, depth) {
  let i = 0;
  try {
    put(job, '[');
    for (; i < length; i++) {
      if (i > 0) put(job, ',');
      item(job, list[i], i, depth);
    }
    put(job, ']');
  } catch (error) {
    throw at(job, `[${i}]`, error);
  }
}

/**
 * @param {EncodeJob} job
 * @param {any} value
 * @param {number} index
 * @param {number} depth
 */
function item(job, value, index, depth) {
  const ready = prepare(job, value, `${index}`);
  emit(job, ready === undefined ? null : ready, depth + 1);
}

/**
 * emitEach writes a Map as a list of entries, a Set as a list of values.
 * @param {EncodeJob} job
 * @param {(self: any, visit: (value: any, key: any) => void) => void} forEach
 * @param {any} collection
 * @param {number} depth
 */
function emitEach(job, forEach, collection, depth) {
  let i = 0;
  try {
    put(job, '[');
    forEach(collection, (value, key) => {
      if (i > 0) put(job, ',');
      if (forEach === mapForEach) emitList(job, [key, value], 2, depth + 1);
      else item(job, value, i, depth);
      i++;
    });
    put(job, ']');
  } catch (error) {
    throw at(job, `[${i}]`, error);
  }
}

/**
 * @param {EncodeJob} job
 * @param {any} error
 */
function emitError(job, error) {
  const { name, message } = error;
  put(job, '{"name":');
  putString(job, typeof name === 'string' ? name : 'Error');
  put(job, ',"message":');
  putString(job, typeof message === 'string' ? message : '');
  put(job, '}');
}

/**
 * @param {EncodeJob} job
 * @param {any} record
 * @param {number} depth
 */
function emitRecord(job, record, depth) {
  const keys = objectKeys(record);
  let first = true;
  let key = '';
  put(job, '{');
  try {
    for (let i = 0; i < keys.length; i++) {
      key = keys[i];
      const ready = prepare(job, record[key], key);
      if (ready === undefined) continue;
      if (!first) put(job, ',');
      first = false;
      putString(job, key);
      put(job, ':');
      emit(job, ready, depth + 1);
    }
  } catch (error) {
    throw at(job, segment(key), error);
  }
  put(job, '}');
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
 * @param {number} number
 */
function putNumber(job, number) {
  put(job, number - number === 0 ? `${number}` : 'null');
}

/**
 * @param {EncodeJob} job
 * @param {string} string
 */
function putString(job, string) {
  if (string.length + 2 > job.max - job.bytes) tooLarge(job);
  const text = jsonStringify(string);
  job.bytes += utf8Length(text);
  if (job.bytes > job.max) tooLarge(job);
  job.out += text;
}

/** @param {EncodeJob} job */
function tooLarge(job) {
  job.out = '';
  fail(job, 'too_large', `longer than ${job.max} bytes`);
}

/**
 * @param {EncodeJob} job
 * @param {'invalid' | 'too_large'} kind
 * @param {string} message
 * @returns {never}
 */
function fail(job, kind, message) {
  job.failure = { __proto__: null, kind, message };
  throw job.failure;
}

/**
 * at puts one more step in front of the path, on the way out.
 * @param {EncodeJob} job
 * @param {string} step
 * @param {any} error
 */
function at(job, step, error) {
  job.path = step + job.path;
  return error;
}

/** @param {string} key */
function segment(key) {
  const short = key.length > maxPathName ? slice(key, 0, maxPathName) : key;
  return isIdentifier(short) ? `.${short}` : `[${jsonStringify(short)}]`;
}

/** @param {string} key */
function isIdentifier(key) {
  for (let i = 0; i < key.length; i++) {
    const c = charCodeAt(key, i);
    const letter = (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95 || c === 36;
    if (!letter && (i === 0 || c < 48 || c > 57)) return false;
  }
  return key.length > 0;
}

/**
 * isObject tells what WebIDL calls an object.
 * @param {any} value
 */
export function isObject(value) {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
