// @ts-check
// What is said to the Go half. shim/doc.go has the layout; shim/testdata/wire has examples that both halves are tested with.

import { documentInfo } from './dom.js';
import { isObject, utf8Length } from './encode.js';
import { cut } from './errors.js';
import { hasOwn, jsonParse, jsonStringify, objectKeys, slice } from './natives.js';

export const limits = {
  __proto__: null, tools: 256, refused: 64, name: 128, title: 1024, description: 16 * 1024, schema: 64 * 1024,
  state: 8 * 1024 * 1024, room: 1024 * 1024, problems: 32, problem: 512, place: 256, problemBytes: 32 * 1024,
};

/**
 * replyText lays out a reply: the header line, the payload, the state text.
 * @param {Reply} reply
 * @param {string} state '' when the other side knows the revision already
 */
export function replyText(reply, state) {
  const { kind, rev, ran, bytes, name, message, payload, parts, last, saves, far } = reply;
  const header = `{"k":"${kind}","rev":${rev},"ran":${ran},"len":${bytes},"state":${utf8Length(state)}` +
    member('name', name || undefined) + member('message', message || undefined) + (parts > 0 ? `,"parts":${parts},"last":${lastText(last)}` : '') +
    member('saves', saves || undefined) + member('far', far || undefined);
  return header + '}\n' + payload + state;
}

/** Of the last part of a result: up to how many bytes it is told as it is, and how many UTF-16 units of a longer one. */
const most = { last: 8 * 1024, brief: 1280 };

/**
 * lastText returns what is told of a part. A long one that says how far the tool is does so with the beginning of its message; of others
 * it is a string with the beginning.
 * @param {string} text JSON
 */
function lastText(text) {
  if (utf8Length(text) <= most.last) return text;
  const part = jsonParse(text);
  const brief = (/** @type {string} */ string) => jsonStringify(cut(string, most.brief));
  if (!isObject(part)) return brief(typeof part === 'string' ? part : text);
  let known = 0;
  const numbers = (/** @type {string} */ name) => {
    if (!hasOwn(part, name) || typeof part[name] !== 'number') return '';
    known++;
    return `,"${name}":${jsonStringify(part[name])}`;
  };
  const told = numbers('progress') + numbers('total');
  const says = hasOwn(part, 'message') && typeof part.message === 'string' && objectKeys(part).length === known + 1;
  return says ? `{"message":${brief(part.message)}${told}}` : brief(text);
}

/**
 * stateText lays out the registry.
 * @param {number} rev
 * @param {(visit: (tool: Tool) => void) => void} eachTool
 * @param {Refusal | null} refusals
 * @param {Problems} problems
 * @param {number} room how long the tools may be; those from the first one on that is too much are counted
 */
export function stateText(rev, eachTool, refusals, problems, room) {
  const { url, title, origin, lang, status, icon } = documentInfo();
  const doc = slice(member('url', url) + member('title', title) + member('origin', origin) + member('lang', lang), 1) +
    member('status', status || undefined) + member('icon', icon || undefined);
  let tools = '';
  let refused = '';
  let count = 0;
  let refusedCount = 0;
  let dropped = 0;
  let short = 0;
  const refuse = (/** @type {Refusal} */ refusal) => {
    if (refusedCount++ < limits.refused) refused += (refused === '' ? '' : ',') + refusalText(refusal);
  };
  eachTool((tool) => {
    if (tool.refusal !== null) return refuse(tool.refusal);
    if (count >= limits.tools || tools.length + tool.text.length > limits.state) {
      dropped++;
      return;
    }
    if (short > 0 || tools.length + tool.text.length > room) {
      short++;
      return;
    }
    tools += `${count++ === 0 ? '' : ','}{"id":${tool.id},${tool.text}}`;
  });
  for (let refusal = refusals; refusal !== null; refusal = refusal.next) refuse(refusal);
  const wrong = problems.count === 0 ? '' : `,"problems":[${problems.text}]${problems.full ? ',"more":true' : ''}`;
  return `{"rev":${rev},"doc":{${doc}},"tools":[${tools}],"refused":[${refused}],"dropped":${dropped}` +
    `${short > 0 ? `,"short":${short}` : ''}${wrong}}`;
}

/**
 * problemText is an entry of what went wrong in the document.
 * @param {string} kind
 * @param {string} name of the tool
 * @param {string} message
 * @param {string} at where in a script
 * @param {number} adapter that it is about, 0 for none
 */
export function problemText(kind, name, message, at, adapter) {
  return `{"kind":"${kind}"${member('name', name || undefined)}${member('message', message)}${member('at', at || undefined)}` +
    `${member('adapter', adapter || undefined)}}`;
}

/**
 * toolText is the part of a tool's entry that does not change: all but the id.
 * @param {Tool} tool
 */
export function toolText(tool) {
  const { name, via, adapter, description, title, inputSchema, outputSchema, annotations } = tool;
  return slice(member('name', name), 1) + member('via', via) + member('adapter', adapter || undefined) + member('description', description) +
    member('title', title) + member('inputSchema', inputSchema) + member('outputSchema', outputSchema) + (annotations && `,"annotations":{${annotations}}`);
}

/** @param {Refusal} refusal */
function refusalText(refusal) {
  return `{${slice(member('name', refusal.name), 1)}${member('rule', refusal.rule)}${member('message', refusal.message)}}`;
}

/**
 * member writes a member of an object, after a comma; nothing for undefined.
 * @param {string} name
 * @param {any} value
 */
function member(name, value) {
  return value === undefined ? '' : `,"${name}":${jsonStringify(value)}`;
}
