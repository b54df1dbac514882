// @ts-check
// From what a page hands over to a Tool record: the conversions of WebIDL, in its order (members of a dictionary by name),
// then the checks of registerTool in the order of the specification, with Chromium's messages.

import { cut, domError, typeError } from './errors.js';
import { encode, isObject } from './encode.js';
import { isActive, isAllowed } from './dom.js';
import { apply, exec, isArray, iterator, jsonStringify, signalAborted, signalReason, toWellFormed } from './natives.js';
import { limits, toolText } from './wire.js';

const hints = {
  __proto__: null, consequentialHint: 0, debugging: 0, destructiveHint: 0, idempotentHint: 0, openWorldHint: 0,
  readOnlyHint: 0, untrustedContentHint: 0,
};

/**
 * convertTool reads a ModelContextTool. prefix opens every message, as in "Failed to execute 'registerTool' on 'ModelContext': ".
 * @param {any} value
 * @param {string} prefix
 * @param {'registerTool' | 'provideContext'} via with provideContext, execute may be missing
 * @returns {Draft}
 */
export function convertTool(value, prefix, via) {
  if (!isObject(value)) throw typeError(`${prefix}The provided value is not of type 'ModelContextTool'.`);
  const where = (/** @type {string} */ member) => `${prefix}Failed to read the '${member}' property from 'ModelContextTool': `;
  const given = value.annotations;
  const annotations = convertAnnotations(given, where('annotations'));
  const description = required(value.description, where('description'));
  const execute = value.execute;
  if (execute === undefined ? via === 'registerTool' : typeof execute !== 'function') {
    throw typeError(where('execute') + (execute === undefined ? 'Required member is undefined.' : 'The given value is not a function.'));
  }
  const inputSchema = value.inputSchema;
  if (inputSchema !== undefined && !isObject(inputSchema)) {
    throw typeError(`${where('inputSchema')}Failed to convert value to 'object'.`);
  }
  const name = required(value.name, where('name'));
  const outputSchema = value.outputSchema;
  if (outputSchema !== undefined && outputSchema !== null && !isObject(outputSchema)) {
    throw typeError(`${where('outputSchema')}Failed to convert value to 'object'.`);
  }
  const title = value.title;
  return {
    __proto__: null, name, description, execute, inputSchema, outputSchema: outputSchema ?? undefined, annotations, via, prefix,
    annotated: isObject(given),
    title: title === undefined ? undefined : toWellFormed(toText(title, where('title'))),
  };
}

/**
 * admit applies the checks to a converted tool. taken tells whether the name is in use.
 * @param {Draft} draft
 * @param {(name: string) => boolean} taken
 * @returns {Tool}
 */
export function admit(draft, taken) {
  checkUse();
  if (taken(draft.name)) throw domError('InvalidStateError', 'Duplicate tool name');
  const fault = nameFault(draft.name) || (draft.description === '' ? 'Description is required' : '');
  if (fault !== '') throw domError('InvalidStateError', fault);
  return makeTool(draft);
}

/** checkUse throws unless this document may have tools. */
export function checkUse() {
  if (!isActive()) throw domError('InvalidStateError', 'The document is not active.');
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
    ...draft, __proto__: null, id: 0, refusal: null, text: '', self: undefined, owner: null, form: null,
    inputSchema: schemaText(draft.inputSchema, `${draft.prefix}invalid input schema: `),
    outputSchema: schemaText(draft.outputSchema, `${draft.prefix}invalid output schema: `),
  };
  const rule = oversize(tool);
  if (rule === '') tool.text = toolText(tool);
  else tool.refusal = { __proto__: null, name: tool.name, rule, message: ruleText[rule], next: null };
  return tool;
}

/** @type {{[rule: string]: string}} */
const ruleText = {
  __proto__: /** @type {any} */ (null),
  'title-too-long': `a title is longer than ${limits.title} characters`,
  'description-too-long': `the description is longer than ${limits.description} characters`,
  'schema-too-large': `a schema is longer than ${limits.schema} bytes of JSON`,
};

/**
 * @param {Tool} tool
 * @returns {string}
 */
function oversize(tool) {
  if (tool.title !== undefined && tool.title.length > limits.title) return 'title-too-long';
  if (tool.annotations.length > 2 * limits.title) return 'title-too-long';
  if (tool.description.length > limits.description) return 'description-too-long';
  return tool.inputSchema === null || tool.outputSchema === null ? 'schema-too-large' : '';
}

/**
 * nameFault says what is wrong with a tool's name, '' when nothing is.
 * @param {string} name
 */
export function nameFault(name) {
  return exec(/^[\w.-]{1,128}$/, name) ? '' : 'Invalid tool name';
}

/**
 * schemaText serialises a schema: undefined when there is none, null when it is larger than will be sent.
 * @param {any} schema
 * @param {string} prefix
 * @returns {string | undefined | null}
 */
function schemaText(schema, prefix) {
  if (schema === undefined) return undefined;
  if (typeof schema === 'string') return schema.length > limits.schema ? null : schema; // a form's
  const encoded = encode(schema, { __proto__: null, max: limits.schema, lenient: true, root: 'schema' });
  switch (encoded.kind) {
    case 'ok': return encoded.text;
    case 'too_large': return null;
    case 'threw': throw encoded.error;
    case 'undefined': throw typeError(`${prefix}toJSON() returns undefined`);
    default: throw typeError(prefix + encoded.message);
  }
}

/**
 * convertAnnotations returns the members of the JSON object of annotations.
 * @param {any} value
 * @param {string} where
 * @returns {string}
 */
export function convertAnnotations(value, where) {
  if (value === undefined || value === null) return '';
  if (!isObject(value)) throw typeError(`${where}The provided value is not of type 'ToolAnnotations'.`);
  let text = '';
  for (const hint in hints) {
    const set = value[hint];
    if (set !== undefined) text += `${text === '' ? '' : ','}"${hint}":${set ? 'true' : 'false'}`;
  }
  const title = value.title;
  if (title === undefined) return text;
  const wellFormed = toWellFormed(toText(title, `${where}Failed to read the 'title' property from 'ToolAnnotations': `));
  return `${text}${text === '' ? '' : ','}"title":${jsonStringify(cut(wellFormed, limits.title * 2))}`;
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
  if (!isObject(value)) throw typeError(`${prefix}The provided value is not of type '${type}'.`);
  const where = (/** @type {string} */ name) => `${prefix}Failed to read the '${name}' property from '${type}': `;
  const list = member === '' ? undefined : value[member];
  if (list !== undefined) {
    eachOf(list, where(member), (entry) => {
      origins = { url: toWellFormed(toText(entry, where(member))), next: origins };
    });
  }
  const signal = member === 'fromOrigins' ? undefined : value.signal;
  if (signal !== undefined && !isSignal(signal)) throw typeError(`${where('signal')}Failed to convert value to 'AbortSignal'.`);
  return { origins, signal };
}

/**
 * throwIfAborted throws the reason of an aborted signal.
 * @param {AbortSignal | undefined} signal
 */
export function throwIfAborted(signal) {
  if (signal !== undefined && signalAborted(signal)) throw signalReason(signal);
}

/** @param {any} value */
function isSignal(value) {
  try {
    signalAborted(value);
    return true;
  } catch {
    return false;
  }
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
