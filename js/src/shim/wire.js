// @ts-check
// What is said to the Go half. shim/doc.go has the layout; shim/testdata/wire has examples that both halves are tested with.

import { documentInfo } from './dom.js';
import { utf8Length } from './encode.js';
import { jsonStringify } from './natives.js';

export const limits = {
  __proto__: null, tools: 256, refused: 64, name: 128, title: 1024, description: 16 * 1024, schema: 64 * 1024,
  state: 8 * 1024 * 1024,
};

/**
 * replyText lays out a reply: the header line, the payload, the state text.
 * @param {Reply} reply
 * @param {string} state '' when the other side knows the revision already
 */
export function replyText(reply, state) {
  let header = `{"k":"${reply.kind}","rev":${reply.rev},"ran":${reply.ran},"len":${reply.bytes}`;
  header += `,"state":${utf8Length(state)}`;
  if (reply.name !== '') header += `,"name":${jsonStringify(reply.name)}`;
  if (reply.message !== '') header += `,"message":${jsonStringify(reply.message)}`;
  return header + '}\n' + reply.payload + state;
}

/**
 * stateText lays out the registry.
 * @param {number} rev
 * @param {(visit: (tool: Tool) => void) => void} eachTool
 * @param {Refusal | null} refusals
 */
export function stateText(rev, eachTool, refusals) {
  const doc = documentInfo();
  let tools = '';
  let refused = '';
  let count = 0;
  let refusedCount = 0;
  let dropped = 0;
  const refuse = (/** @type {Refusal} */ refusal) => {
    if (refusedCount++ < limits.refused) refused += (refused === '' ? '' : ',') + refusalText(refusal);
  };
  eachTool((tool) => {
    if (tool.refusal !== null) return refuse(tool.refusal);
    if (count >= limits.tools || tools.length + tool.text.length > limits.state) {
      dropped++;
      return;
    }
    tools += `${count++ === 0 ? '' : ','}{"id":${tool.id},${tool.text}}`;
  });
  for (let refusal = refusals; refusal !== null; refusal = refusal.next) refuse(refusal);
  return `{"rev":${rev},"doc":{"url":${jsonStringify(doc.url)},"title":${jsonStringify(doc.title)}` +
    `,"origin":${jsonStringify(doc.origin)},"lang":${jsonStringify(doc.lang)}}` +
    `,"tools":[${tools}],"refused":[${refused}],"dropped":${dropped}}`;
}

/**
 * toolText is the part of a tool's entry that does not change: all but the id.
 * @param {Tool} tool
 */
export function toolText(tool) {
  let text = `"name":${jsonStringify(tool.name)},"via":"${tool.via}","description":${jsonStringify(tool.description)}`;
  if (tool.title !== undefined) text += `,"title":${jsonStringify(tool.title)}`;
  if (tool.inputSchema !== undefined) text += `,"inputSchema":${jsonStringify(tool.inputSchema)}`;
  if (tool.outputSchema !== undefined) text += `,"outputSchema":${jsonStringify(tool.outputSchema)}`;
  if (tool.annotations !== '') text += `,"annotations":{${tool.annotations}}`;
  return text;
}

/** @param {Refusal} refusal */
function refusalText(refusal) {
  return `{"name":${jsonStringify(refusal.name)},"rule":"${refusal.rule}","message":${jsonStringify(refusal.message)}}`;
}
