// @ts-check
// The layer of declarative tools: the forms of this document with toolname and tooldescription. What the document says is read
// again when something changed that it could depend on, and a tool that says something else is another tool.

import { isName, makeTool } from './declaration.js';
import { global, isKeyed, readyState } from './dom.js';
import { closest, find, findAll, getAttribute, hasAttribute, isConnected, matches, nodeType, nodesLength, parentElement } from './formdom.js';
import { formChanged, runForm } from './formrun.js';
import { readForm, schemaOf } from './formschema.js';
import {
  NativeMap, addEventListener, iterable, mapForEach, mapGet, mapHas, mapSet, mapSize, members, timeout,
} from './natives.js';
import { problem } from './problems.js';
import { renew, replaceForms } from './registry.js';

const controls = 'form,input,select,textarea,fieldset,button';
const many = 32;
const [observe, takeRecords] = members('MutationObserver', 'observe', 'takeRecords');
const [recordType, recordTarget, addedNodes, removedNodes] = members('MutationRecord', 'type', 'target', 'addedNodes', 'removedNodes');
const observer = new MutationObserver(look);
const pause = 200;

/** What is observed on a page without forms that are tools costs next to nothing. */
const few = changesOf(['toolname', 'tooldescription'], false);
const all = changesOf(['toolname', 'tooldescription', 'tooltitle', 'toolautosubmit', 'toolparamdescription', 'name', 'type', 'form',
  'disabled', 'readonly', 'required', 'multiple', 'pattern', 'min', 'max', 'step', 'accept', 'value', 'id', 'for', 'aria-description'], true);

/** The document that is observed. @type {Document | null} */
let observed = null;
/** The document that was read last. @type {Document | null} */
let read = null;
/** The tools by name. @type {Map<string, Tool>} */
let tools = new NativeMap();

/** watchForms reads the forms of this document, and of one that takes its place in the same window, from now on. */
export function watchForms() {
  addEventListener(global, 'DOMContentLoaded', start);
  if (readyState(document) !== 'loading') start();
  else later();
}

/** later reads what is parsed until then: to observe a parser would slow it down. */
function later() {
  timeout(() => {
    if (readyState(document) !== 'loading') return;
    scan(true);
    later();
  }, pause);
}

function start() {
  scan(true);
  if (observed === document) return;
  observed = document;
  observe(observer, document, mapSize(tools) > 0 ? all : few);
}

/**
 * changesOf makes options of an observer.
 * @param {any[]} list of attributes
 * @param {boolean} characterData
 */
function changesOf(list, characterData) {
  return { __proto__: null, subtree: true, childList: true, characterData, attributeFilter: iterable(list) };
}

/** readChanges reads what changed until now. */
export function readChanges() {
  if (observed === document) look(takeRecords(observer));
  else scan(false);
}

/** @param {MutationRecord[]} records */
function look(records) {
  const some = mapSize(tools) > 0;
  let weight = !some && records.length > many ? 2 : 0;
  for (let i = 0; i < records.length && weight < 2; i++) {
    const own = weigh(records[i], some);
    if (own > weight) weight = own;
  }
  if (weight > 0) scan(weight > 1);
}

/**
 * weigh tells whether a change can matter: 2 when it makes another tool of a form, 1 when only texts and choices are other
 * ones, which is not a reason to cancel a call. Without a tool, only forms matter.
 * @param {MutationRecord} record
 * @param {boolean} some
 */
function weigh(record, some) {
  const target = recordTarget(record);
  const wanted = some ? controls : 'form';
  const type = recordType(record);
  if (type === 'attributes') return matches(target, wanted) ? 2 : some && matches(target, 'label,option') ? 1 : 0;
  if (type === 'childList') {
    if (holds(addedNodes(record), wanted) || (some && holds(removedNodes(record), wanted))) return 2;
    if (some && (holds(addedNodes(record), 'label,option') || holds(removedNodes(record), 'label,option'))) return 1;
  }
  const element = nodeType(target) === 1 ? target : parentElement(target);
  return some && element !== null && closest(element, 'label,option') !== null ? 1 : 0;
}

/**
 * @param {NodeList} nodes
 * @param {string} wanted
 */
function holds(nodes, wanted) {
  for (let i = 0; i < nodesLength(nodes); i++) {
    if (nodeType(nodes[i]) === 1 && (matches(nodes[i], wanted) || find(nodes[i], wanted) !== null)) return true;
  }
  return false;
}

/**
 * scan reads all forms. What says the same as before stays the tool that it was.
 * @param {boolean} cancel the calls of those that do not
 */
function scan(cancel) {
  renew();
  if (read !== document) tools = new NativeMap();
  read = document;
  const list = findAll(document, 'form[toolname]');
  const next = new NativeMap();
  let same = true;
  for (let i = 0; i < nodesLength(list); i++) {
    const tool = toolOf(list[i]);
    if (tool === null) continue;
    if (mapHas(next, tool.name)) {
      problem('registration', tool.name, 'a form before it has the same toolname', '');
      continue;
    }
    const old = mapGet(tools, tool.name);
    if (old !== undefined && old.form !== tool.form && isNamed(old.form, tool.name)) continue;
    const kept = old !== undefined && old.form === tool.form && old.text === tool.text && old.inputSchema === tool.inputSchema;
    same = same && kept;
    mapSet(next, tool.name, kept ? old : tool);
  }
  if (same && mapSize(next) === mapSize(tools)) return;
  if (mapSize(tools) === 0) observe(observer, document, all);
  const before = tools;
  tools = next;
  replaceForms(next);
  mapForEach(before, (/** @type {Tool} */ tool, /** @type {string} */ name) => {
    if (cancel && mapGet(next, name) !== tool) formChanged(tool.form);
  });
}

/**
 * isNamed tells whether a form still is the tool of the name: of two forms with one name, the one that was first has it.
 * @param {Element} form
 * @param {string} name
 */
function isNamed(form, name) {
  return isConnected(form) && getAttribute(form, 'toolname') === name && hasAttribute(form, 'tooldescription');
}

/**
 * toolOf makes the tool of a form, null when it is none.
 * @param {Element} form
 * @returns {Tool | null}
 */
function toolOf(form) {
  const name = getAttribute(form, 'toolname');
  const description = getAttribute(form, 'tooldescription');
  const keyed = isKeyed();
  if (!keyed) {
    problem('registration', name, 'a form is no tool when document.domain is enabled', '');
    return null;
  }
  if (!hasAttribute(form, 'tooldescription') || !isName(name)) {
    problem('registration', name, isName(name) ? 'its form has no tooldescription' : 'the toolname of its form is not a name', '');
    return null;
  }
  const tool = makeTool({
    __proto__: null, name, description, title: getAttribute(form, 'tooltitle') || undefined, inputSchema: schemaOf(readForm(form)),
    outputSchema: undefined, annotations: hasAttribute(form, 'toolautosubmit') ? '"autosubmit":true' : '', via: 'form', prefix: '',
    execute: (/** @type {any} */ input, /** @type {any} */ context) => runForm(tool, input, context.signal, readChanges),
  });
  tool.form = form;
  return tool;
}
