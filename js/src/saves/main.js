// @ts-check
// Counts the clicks by scripts of links that save something. The browser says that a download begins only when the call that
// clicked may have ended, so a reply tells how many are to be waited for. A page that hides its clicks from this is not waited for.

const { saves } = host;
const { apply, defineProperty, getOwnPropertyDescriptor } = Reflect;
const NativeProxy = Proxy;
counted = saves;
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const { addEventListener } = EventTarget.prototype;
const closest = uncurry(Element.prototype.closest);
const getAttribute = uncurry(Element.prototype.getAttribute);
const exec = uncurry(RegExp.prototype.exec);
const typeOf = getter(Event.prototype, 'type');
const isPrevented = getter(Event.prototype, 'defaultPrevented');

/**
 * @param {object} prototype
 * @param {string} name
 */
function getter(prototype, name) {
  return uncurry(/** @type {any} */ (getOwnPropertyDescriptor(prototype, name)).get);
}

/**
 * saving returns the link that saves something when an element is clicked, or null.
 * @param {any} element
 */
function saving(element) {
  try {
    return closest(element, 'a[download],area[download]');
  } catch {
    return null; // it is no element
  }
}

/** @param {any} link */
function note(link) {
  saves.count++;
  if (exec(/^\s*(?:blob|data):/i, getAttribute(link, 'href')) === null) saves.far++;
}

/**
 * replace puts a proxy in the place of a method, which looks the same to a page.
 * @param {object} prototype
 * @param {string} name
 * @param {(native: Function, self: any, args: any[]) => any} run
 */
function replace(prototype, name, run) {
  const descriptor = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(prototype, name));
  const value = new NativeProxy(descriptor.value, { __proto__: null, apply: run });
  defineProperty(prototype, name, { __proto__: null, ...descriptor, value });
}

replace(HTMLElement.prototype, 'click', (native, self, args) => {
  const link = saving(self);
  if (link === null) return apply(native, self, args);
  /** @type {Event | null} */
  let event = null;
  const listener = (/** @type {Event} */ e) => { event = e; };
  apply(addEventListener, self, ['click', listener, { __proto__: null, capture: true, once: true }]);
  apply(native, self, args);
  if (event !== null && !isPrevented(event)) note(link);
});

replace(EventTarget.prototype, 'dispatchEvent', (native, self, args) => {
  const goes = apply(native, self, args);
  const link = goes && typeOf(args[0]) === 'click' ? saving(self) : null;
  if (link !== null) note(link);
  return goes;
});
