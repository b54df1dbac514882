// @ts-check
// Finds elements as a person sees them, who sees no shadow roots.

/**
 * findAll returns what a selector finds in the document, or, where that is nothing, in its open shadow trees. `HOST >>> SELECTOR`
 * looks in the shadow tree of a host.
 * @param {string} selector
 * @returns {Element[]}
 */
export function findAll(selector) {
  /** @type {(Document | ShadowRoot)[]} */
  let roots = [document];
  /** @type {Element[]} */
  let found = [];
  for (const part of selector.split('>>>')) {
    found = roots.flatMap((root) => within(root, part));
    roots = found.flatMap((host) => host.shadowRoot ?? []);
  }
  return found;
}

/**
 * @param {Document | ShadowRoot} root
 * @param {string} selector
 * @returns {Element[]}
 */
function within(root, selector) {
  const here = Array.from(root.querySelectorAll(selector));
  if (here.length > 0) return here;
  return Array.from(root.querySelectorAll('*')).flatMap((host) => (host.shadowRoot === null ? [] : within(host.shadowRoot, selector)));
}

/**
 * holds tells whether an element is another one or around it, shadow trees included.
 * @param {Element} outer
 * @param {Element | null} inner
 */
export function holds(outer, inner) {
  for (/** @type {any} */ let node = inner; node !== null; node = node.parentNode ?? node.host ?? null) {
    if (node === outer) return true;
  }
  return false;
}

/**
 * deepest follows what a document says of an element, such as which has the focus, into shadow trees.
 * @param {(root: Document | ShadowRoot) => Element | null} ask
 */
export function deepest(ask) {
  let element = ask(document);
  for (let root = element?.shadowRoot; root !== null && root !== undefined; root = element?.shadowRoot) {
    const inner = ask(root);
    if (inner === null || inner === element) break;
    element = inner;
  }
  return element;
}
