// @ts-check
// Says where a person meets the element that a selector finds, or in words why a person cannot do something with it. It runs in a
// world of its own, whose functions no page can change.

import { deepest, findAll, holds } from './deep.js';

const most = 80;

/** @param {string} text */
const short = (text) => (text.length > most ? `${text.slice(0, most)}…` : text);

/** @param {string} text */
const quoted = (text) => `"${short(text.replace(/\s+/g, ' ').trim())}"`;

/**
 * named describes an element, such as <button id="pay">.
 * @param {Element} element
 */
function named(element) {
  const name = element.localName;
  const more = element.id !== '' ? ` id=${quoted(element.id)}` : element.classList.length > 0 ? ` class=${quoted(element.className.toString())}` : '';
  return `<${short(name)}${more}>`;
}

/** What keeps a person from it, now or for good. */
class Fault extends Error {
  /** @param {string} message */
  constructor(message, final = false) {
    super(message);
    this.final = final;
  }
}

/** The types of input that a person types text into. */
const typed = ['text', 'search', 'email', 'url', 'tel', 'password', 'number'];
/** The types that have a picker of the browser's, with a value of each. @type {{[type: string]: string}} */
const picked = {
  date: '2026-01-31', time: '13:30', 'datetime-local': '2026-01-31T13:30', month: '2026-01', week: '2026-W05', color: '#ff8800',
  range: 'a number that min, max and step allow',
};

/** Whether a field takes files. @param {Element} element */
const takesFiles = (element) => element instanceof HTMLInputElement && element.type === 'file';

/**
 * usable checks that a person can see and use the element.
 * @param {Element} element
 */
function usable(element) {
  element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  const box = Array.from(element.getClientRects()).find((one) => one.width > 0 && one.height > 0);
  if (box === undefined || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) {
    throw new Fault(`${named(element)} is hidden: name what the person sees, or let the page show it first`);
  }
  enabledNow(element);
  return box;
}

/** @param {Element} element */
function enabledNow(element) {
  for (/** @type {any} */ let one = element; one !== undefined; one = one.getRootNode().host) {
    if (one.matches(':disabled') || one.closest('[aria-disabled=true]') !== null) {
      throw new Fault(`${named(element)} is disabled: let the page enable it before the person uses it`);
    }
  }
}

/**
 * place returns where the person meets the element, at the middle of what is seen of it.
 * @param {Element} element
 */
function place(element) {
  const box = usable(element);
  const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
  const y = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
  const met = box.right <= 0 || box.bottom <= 0 || box.left >= innerWidth || box.top >= innerHeight ? null : deepest((root) => root.elementFromPoint(x, y));
  if (met === null) throw new Fault(`${named(element)} is outside of the window, and cannot be scrolled into it`);
  const own = holds(element, met) || holds(met, element) && met.closest('label') === met;
  if (!own) throw new Fault(`${named(met)} covers ${named(element)}: let the person close it first`);
  return { x, y };
}

/**
 * field checks that a person can type into the element, and returns whether it has a picker instead.
 * @param {any} element
 * @param {string} text
 */
function field(element, text) {
  const input = element instanceof HTMLInputElement;
  if (takesFiles(element)) throw new Fault(`${named(element)} takes files: write choose in the place of fill, with a file`, true);
  if (input && element.type in picked) {
    if (element.readOnly) throw new Fault(`${named(element)} is read-only: a person cannot change it`);
    return true;
  }
  if (input ? !typed.includes(element.type) : !(element instanceof HTMLTextAreaElement) && !element.isContentEditable) {
    const instead = element instanceof HTMLSelectElement ? 'choose' : 'click';
    throw new Fault(`${named(element)} takes no text: write ${instead} in the place of fill, or name a field`, true);
  }
  if (element.readOnly) throw new Fault(`${named(element)} is read-only: a person cannot type into it`);
  const bound = element.maxLength ?? -1;
  if (bound >= 0 && text.length > bound) throw new Fault(`${named(element)} takes ${bound} characters, and the text has ${text.length}: shorten it`, true);
  return false;
}

/** @param {HTMLOptionElement} option */
const words = (option) => option.label.replace(/\s+/g, ' ').trim();

/** @param {HTMLOptionElement} option */
const enabled = (option) => !option.matches(':disabled, :disabled > option') && !option.hidden;

/**
 * optionOf finds the option with a text or a value.
 * @param {Element} list
 * @param {string} text
 */
function optionOf(list, text) {
  if (!(list instanceof HTMLSelectElement)) throw new Fault(`${named(list)} is not a <select>: write click in the place of choose, or name a list`, true);
  const all = Array.from(list.options);
  const same = all.filter((one) => words(one) === text);
  const found = same.length > 0 ? same : all.filter((one) => one.value === text);
  const has = all.slice(0, 10).map((one) => quoted(words(one))).join(', ') || 'none';
  if (found.length === 0) throw new Fault(`${named(list)} has no option ${quoted(text)}: write one of ${has}${all.length > 10 ? ' and more' : ''}`);
  if (found.length > 1) throw new Fault(`${named(list)} has ${found.length} options ${quoted(text)}: write the value of one`);
  if (!enabled(found[0])) throw new Fault(`the option ${quoted(text)} of ${named(list)} is disabled: choose another one, or let the page enable it`);
  return { list, option: found[0] };
}

/** Whether an element, or what it holds, has the focus. @param {Element} element */
const focused = (element) => holds(element, deepest((root) => root.activeElement));

/** Tells the page that a field was changed. @param {Element} element */
function tell(element) {
  element.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  element.dispatchEvent(new Event('change', { bubbles: true }));
}

/** What is looked at for each thing that a person does. @type {{[what: string]: (element: any, text: string) => object}} */
const looks = {
  click(element) {
    if (element instanceof HTMLSelectElement || element instanceof HTMLOptionElement) {
      throw new Fault(`${named(element)} is a list: write choose in the place of click`, true);
    }
    if (takesFiles(element)) throw new Fault(`${named(element)} takes files: write choose in the place of click, with a file`, true);
    return place(element);
  },
  fill(element, text) {
    usable(element);
    return { picks: field(element, text), ...place(element) };
  },
  picked(element, text) {
    element.focus();
    const before = element.value;
    element.value = text;
    const { type, value } = element;
    const plain = value !== '' || text === '';
    if (!(type === 'color' ? value === text.toLowerCase() : type === 'range' ? Number(value) === Number(text) : plain)) {
      element.value = before;
      throw new Fault(`${named(element)} of the type ${type} does not take ${quoted(text)}: write ${picked[type]}`, true);
    }
    if (value !== before) tell(element);
    return {};
  },
  files(element, text) {
    const { name, type, data } = JSON.parse(text);
    const all = new DataTransfer();
    all.items.add(new File([Uint8Array.from(atob(data), (one) => one.charCodeAt(0))], name, { type }));
    element.focus();
    element.files = all.files;
    tell(element);
    return {};
  },
  focused(element) {
    if (!focused(element)) throw new Fault(`${named(element)} does not take the focus when it is clicked`);
    if (element.isContentEditable) getSelection()?.selectAllChildren(element);
    else element.select();
    return { empty: (element.isContentEditable ? element.textContent : element.value) === '' };
  },
  filled(element, text) {
    if (element.validity?.badInput) throw new Fault(`${named(element)} of the type ${element.type} does not take ${quoted(text)}`);
    return {};
  },
  choose(element, text) {
    if (takesFiles(element)) { // which pages often hide behind a button
      enabledNow(element);
      return { file: true };
    }
    usable(element);
    const { list, option } = optionOf(element, text);
    const chosen = option.selected;
    if (list.multiple || list.size > 1) {
      const control = navigator.platform.startsWith('Mac') ? 4 : 2;
      return { ...place(option), down: -1, chosen, several: list.multiple, control };
    }
    place(list);
    list.focus();
    return { chosen, down: Array.from(list.options).filter(enabled).indexOf(option) };
  },
  chosen(element, text) {
    if (!optionOf(element, text).option.selected) throw new Fault(`${named(element)} did not take the option ${quoted(text)}`);
    return {};
  },
};

aim = (what, selector, text) => {
  const target = { fault: '', final: false, x: 0, y: 0, down: 0, chosen: false, several: false, control: 0, empty: false, picks: false, file: false };
  const all = findAll(selector);
  if (all.length === 0) return { ...target, fault: `no element matches ${quoted(selector)}` };
  if (all.length > 1) {
    return { ...target, fault: `${all.length} elements match ${quoted(selector)}, such as ${named(all[0])} and ${named(all[1])}: write a selector of one` };
  }
  try {
    return { ...target, ...looks[what](all[0], text) };
  } catch (error) {
    if (error instanceof Fault) return { ...target, fault: error.message, final: error.final };
    throw error;
  }
};
