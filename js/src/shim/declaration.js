// @ts-check
// From what a page hands over to a Tool record: the conversions of WebIDL, in its order (members of a dictionary by name),
// then the checks of registerTool in the order of the specification, with Chromium's messages.

import { cut, domError, typeError } from './errors.js';
import { encode, is, isObject } from './encode.js';
import { isActive, isAllowed, isKeyed } from './dom.js';
import { apply, exec, isArray, iterator, jsonStringify, signalAborted, signalReason, slice, toWellFormed } from './natives.js';
import { registrar } from './registry.js';
import { limits, toolText } from './wire.js';

const hints = [
  'consequentialHint', 'debugging', 'destructiveHint', 'idempotentHint', 'openWorldHint', 'readOnlyHint', 'untrustedContentHint',
];

/**
 * reader returns what reads the members of a dictionary and opens the messages about them.
 * @param {any} value
 * @param {string} type the dictionary's name
 * @param {string} prefix
 */
export function reader(value, type, prefix) {
  if (!isObject(value)) throw typeError(`${prefix}The provided value is not of type '${type}'.`);
  return (/** @type {string} */ member) => `${prefix}Failed to read the '${member}' property from '${type}': `;
}

/**
 * checkObject checks a member that is an object when it is there.
 * @param {any} value
 * @param {string} where
 * @returns {object | undefined}
 */
function checkObject(value, where) {
  if (value !== undefined && !isObject(value)) throw typeError(`${where}Failed to convert value to 'object'.`);
  return value;
}

/**
 * convertTool reads a ModelContextTool. prefix opens every message, as in "Failed to execute 'registerTool' on 'ModelContext': ".
 * @param {any} value
 * @param {string} prefix
 * @param {Via} via only with registerTool, execute must be there
 * @param {string} [type]
 * @returns {Draft}
 */
export function convertTool(value, prefix, via, type = 'ModelContextTool') {
  const where = reader(value, type, prefix);
  const given = value.annotations;
  const annotations = convertAnnotations(given, where('annotations'));
  const description = required(value.description, where('description'));
  const { execute } = value;
  if (execute === undefined && via === 'registerTool') required(execute, where('execute'));
  if (execute !== undefined && typeof execute !== 'function') throw typeError(`${where('execute')}The given value is not a function.`);
  const inputSchema = checkObject(value.inputSchema, where('inputSchema'));
  const name = required(value.name, where('name'));
  const { outputSchema: output } = value;
  const outputSchema = isObject(output) ? output : undefined; // browsers do not look at it
  const { title: words } = value;
  const title = words === undefined ? undefined : toWellFormed(toText(words, where('title')));
  return { name, title, description, execute, inputSchema, outputSchema, annotations, annotated: isObject(given), via, prefix };
}

/** @param {string} name */
export const isName = (name) => exec(/^[\w.-]{1,128}$/, name) !== null;

/**
 * admit applies the checks to a converted tool. taken tells whether the name is in use.
 * @param {Draft} draft
 * @param {(name: string) => boolean} taken
 * @returns {Tool}
 */
export function admit(draft, taken) {
  checkUse();
  if (taken(draft.name)) throw domError('InvalidStateError', 'Duplicate tool name');
  if (!isName(draft.name)) throw domError('InvalidStateError', 'Invalid tool name');
  if (draft.description === '') throw domError('InvalidStateError', 'Description is required');
  return makeTool(draft);
}

/** checkUse throws unless this document may have tools. */
export function checkUse() {
  if (!isActive()) throw domError('InvalidStateError', 'The document is not active.');
  if (!isKeyed()) {
    throw domError('SecurityError', 'document.modelContext cannot be used when document.domain is enabled.');
  }
  if (!isAllowed()) {
    throw domError('NotAllowedError', 'Access to the feature "tools" is disallowed by permissions policy.');
  }
}

/**
 * makeTool serialises the schemas, and notes what is too large to be sent or writes the text that will be sent.
 * @param {Draft} draft
 * @returns {Tool}
 */
export function makeTool(draft) {
  /** @type {Tool} */
  const tool = {
    ...draft, id: 0, adapter: draft.via === 'form' || draft.via === 'manifest' ? 0 : registrar.adapter, refusal: null, text: '', self: undefined, owner: null, form: null, exposedTo: null,
    inputSchema: schemaText(draft.inputSchema, `${draft.prefix}invalid input schema: `),
    outputSchema: schemaText(draft.outputSchema, `${draft.prefix}invalid output schema: `),
  };
  const part = oversize(tool);
  if (part === '') tool.text = toolText(tool);
  else {
    const schema = part === 'schema';
    const message = `the ${part} is longer than ${limits[part]} ${schema ? 'bytes of JSON' : 'characters'}`;
    tool.refusal = { name: tool.name, rule: `${part}-too-${schema ? 'large' : 'long'}`, message, next: null };
  }
  return tool;
}

/**
 * oversize names the part that is too large to be sent, '' when none is.
 * @param {Tool} tool
 * @returns {'' | 'title' | 'description' | 'schema'}
 */
function oversize({ title = '', annotations, description, inputSchema, outputSchema }) {
  if (title.length > limits.title || annotations.length > 2 * limits.title) return 'title';
  if (description.length > limits.description) return 'description';
  return inputSchema === null || outputSchema === null ? 'schema' : '';
}

/**
 * schemaText serialises a schema: undefined when there is none, null when it is larger than will be sent.
 * @param {any} schema
 * @param {string} prefix
 */
function schemaText(schema, prefix) {
  if (typeof schema === 'string') return schema.length > limits.schema ? null : schema; // a form's
  return schema === undefined ? undefined : serialise(schema, limits.schema, 'schema', prefix);
}

/**
 * serialise writes an object as JSON: null when it is longer than max bytes.
 * @param {any} value
 * @param {number} max
 * @param {string} root
 * @param {string} prefix
 * @returns {string | null}
 */
export function serialise(value, max, root, prefix) {
  const { kind, text, error, message } = encode(value, { max, lenient: true, root });
  if (kind === 'ok') return text;
  if (kind === 'too_large') return null;
  throw kind === 'threw' ? error : typeError(prefix + (message || 'toJSON() returns undefined'));
}

/**
 * convertAnnotations returns the members of the JSON object of annotations.
 * @param {any} value
 * @param {string} where
 * @returns {string}
 */
function convertAnnotations(value, where) {
  if (value === undefined || value === null) return '';
  const at = reader(value, 'ToolAnnotations', where);
  let text = '';
  for (let i = 0; i < hints.length; i++) {
    const set = value[hints[i]];
    if (set !== undefined) text += `,"${hints[i]}":${!!set}`;
  }
  const { title } = value;
  if (title !== undefined) text += `,"title":${jsonStringify(cut(toWellFormed(toText(title, at('title'))), limits.title * 2))}`;
  return slice(text, 1);
}

/**
 * convertOptions reads one of the three dictionaries of options: a list of origins, a signal, or both.
 * @param {any} value
 * @param {string} prefix
 * @param {string} type the dictionary's name
 * @param {string} member the list's name, '' when there is none
 * @returns {{origins: Origins | null, signal: AbortSignal | undefined}}
 */
export function convertOptions(value, prefix, type, member) {
  /** @type {Origins | null} */
  let origins = null;
  if (value === undefined || value === null) return { origins, signal: undefined };
  const where = reader(value, type, prefix);
  const list = member === '' ? undefined : value[member];
  if (list !== undefined) {
    eachOf(list, where(member), (entry) => {
      origins = { url: toWellFormed(toText(entry, where(member))), next: origins };
    });
  }
  const signal = member === 'fromOrigins' ? undefined : value.signal;
  if (signal !== undefined && !is(signalAborted, signal)) throw typeError(`${where('signal')}Failed to convert value to 'AbortSignal'.`);
  return { origins, signal };
}

/**
 * throwIfAborted throws the reason of an aborted signal.
 * @param {AbortSignal | undefined} signal
 */
export function throwIfAborted(signal) {
  if (signal !== undefined && signalAborted(signal)) throw signalReason(signal);
}

/**
 * eachOf walks a sequence that a page gave. Arrays are walked by index, so that a patched array iterator does not matter.
 * @param {any} list
 * @param {string} where
 * @param {(entry: any) => void} visit
 */
export function eachOf(list, where, visit) {
  if (!isObject(list)) throw typeError(`${where}The provided value cannot be converted to a sequence.`);
  if (isArray(list)) {
    for (let i = 0; i < list.length; i++) visit(list[i]);
    return;
  }
  const method = list[iterator];
  if (typeof method !== 'function') throw typeError(`${where}The object must have a callable @@iterator property.`);
  const walker = apply(method, list, []);
  const next = walker.next;
  for (let step = apply(next, walker, []); !step.done; step = apply(next, walker, [])) visit(step.value);
}

/**
 * @param {any} value
 * @param {string} where
 * @returns {string}
 */
export function required(value, where) {
  if (value === undefined) throw typeError(`${where}Required member is undefined.`);
  return toText(value, where);
}

/**
 * toText is WebIDL's conversion to DOMString.
 * @param {any} value
 * @param {string} where
 * @returns {string}
 */
export function toText(value, where) {
  if (typeof value === 'symbol') throw typeError(`${where}Cannot convert a Symbol value to a string`);
  return `${value}`;
}
