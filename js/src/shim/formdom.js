// @ts-check
// Forms and their controls, read and written through what was captured before any script of the page ran: a control may be
// named `elements`, and what inputs inherit is the page's to change.

import { getOwnPropertyDescriptor, members, uncurry } from './natives.js';

export const [getAttribute, hasAttribute, localName, matches, closest, find, classList] = members(
  'Element', 'getAttribute', 'hasAttribute', 'localName', 'matches', 'closest', 'querySelector', 'classList');
export const [firstChild, nextSibling, parentElement, nodeType, nodeValue, textContent, isConnected, contains] = members(
  'Node', 'firstChild', 'nextSibling', 'parentElement', 'nodeType', 'nodeValue', 'textContent', 'isConnected', 'contains');
export const [createElement, findAll, findFirst] = members('Document', 'createElement', 'querySelectorAll', 'querySelector');
export const [tokensAdd, tokensRemove] = members('DOMTokenList', 'add', 'remove');
export const [nodesLength] = members('NodeList', 'length');
export const [collectionLength] = members('HTMLCollection', 'length');
export const [focus, click] = members('HTMLElement', 'focus', 'click');
export const [formElements, requestSubmit] = members('HTMLFormElement', 'elements', 'requestSubmit');
export const [inputType, inputValue, inputChecked, inputNumber] = members('HTMLInputElement', 'type', 'value', 'checked', 'valueAsNumber');
export const [areaValue] = members('HTMLTextAreaElement', 'value');
export const [selectOptions] = members('HTMLSelectElement', 'options');
export const [optionValue, optionSelected] = members('HTMLOptionElement', 'value', 'selected');
export const [transferItems, transferFiles] = members('DataTransfer', 'items', 'files');
export const [addItem] = members('DataTransferItemList', 'add');
export const [eventTarget] = members('Event', 'target');
export const setInputType = setter('HTMLInputElement', 'type');
export const setInputValue = setter('HTMLInputElement', 'value');
export const setInputChecked = setter('HTMLInputElement', 'checked');
export const setInputFiles = setter('HTMLInputElement', 'files');
export const setAreaValue = setter('HTMLTextAreaElement', 'value');
export const setOptionSelected = setter('HTMLOptionElement', 'selected');

const labelsOf = perElement('labels');
const messageOf = perElement('validationMessage');

/**
 * setter captures the setter of an attribute.
 * @param {string} type
 * @param {string} name
 */
function setter(type, name) {
  const holder = /** @type {any} */ (window)[type]?.prototype;
  return uncurry(holder && getOwnPropertyDescriptor(holder, name)?.set);
}

/**
 * perElement captures a getter that each kind of control has of its own.
 * @param {string} name
 */
function perElement(name) {
  const [input] = members('HTMLInputElement', name);
  const [select] = members('HTMLSelectElement', name);
  const [textarea] = members('HTMLTextAreaElement', name);
  return { __proto__: null, input, select, textarea };
}

/**
 * attributeOf reads what the button that submits a form says, or else the form.
 * @param {Element} form
 * @param {Element | null} button
 * @param {string} name
 * @returns {string | null}
 */
export function attributeOf(form, button, name) {
  return (button === null ? null : getAttribute(button, `form${name}`)) ?? getAttribute(form, name);
}

/**
 * targetOf returns where the document that answers a form goes.
 * @param {Element} form
 * @param {Element | null} button
 * @returns {string}
 */
export function targetOf(form, button) {
  return attributeOf(form, button, 'target') ?? getAttribute(findFirst(document, 'base[target]') ?? form, 'target') ?? '';
}

/** @param {any} control @returns {NodeList | null} */
export const controlLabels = (control) => /** @type {any} */ (labelsOf)[localName(control)](control);
/** @param {any} control @returns {string} */
export const validationMessage = (control) => /** @type {any} */ (messageOf)[localName(control)]?.(control) ?? '';
