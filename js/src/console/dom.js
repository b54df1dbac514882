// @ts-check
// Elements are made of parts and texts, never of markup: everything that a page or a caller wrote is shown as text.

/**
 * Makes an element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name @param {Partial<HTMLElementTagNameMap[K]>} [properties] @param {(Node | string)[]} parts
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, properties = {}, ...parts) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...parts);
  return element;
}

/**
 * Passes the focus on before what has it goes: a person who uses the keyboard stays where they are.
 * @param {Element} from @param {Element | null} to
 */
export function passFocus(from, to) {
  if (to instanceof HTMLElement && from.contains(document.activeElement)) to.focus();
}

/**
 * The element with that id, which the page has.
 * @param {string} id
 */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}
