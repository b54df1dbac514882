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
 * The element with that id, which the page has.
 * @param {string} id
 */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}
