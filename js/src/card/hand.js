// @ts-check
// Whether a hand did it: what a script does is not an answer, and neither is a click on something that has just appeared.

const ripeAfter = 600; // milliseconds

/** @type {WeakMap<Element, number>} when an element was in view first, without a break */
const seen = new WeakMap();

/** How much of an element must be in view: of a picture, which may be larger than the window, a part. */
const whole = 0.95;
const part = 0.2;

const sight = new IntersectionObserver((entries) => {
  for (const { target, intersectionRatio } of entries) {
    if (intersectionRatio < (target instanceof HTMLImageElement ? part : whole)) seen.delete(target);
    else if (!seen.has(target) && document.visibilityState === 'visible') seen.set(target, performance.now());
  }
}, { threshold: [0, part, whole, 1] });

/** @type {Set<Element>} */
const watched = new Set();

document.addEventListener('visibilitychange', () => {
  for (const element of watched) {
    seen.delete(element);
    sight.unobserve(element);
    if (element.isConnected) sight.observe(element); // which tells how it is now
    else watched.delete(element);
  }
});

/**
 * @template {Element} T
 * @param {T} element
 * @returns {T}
 */
export function watch(element) {
  watched.add(element);
  sight.observe(element);
  return element;
}

/** @param {Element} element */
export const inSight = (element) => seen.has(element);

/**
 * Reports whether an event on an element that is watched was a person's.
 * @param {Event} e @param {Element} element
 */
export function byHand(e, element) {
  const since = seen.get(element);
  return e.isTrusted && since !== undefined && performance.now() - since >= ripeAfter;
}

/**
 * Does something when a person presses a button.
 * @param {HTMLButtonElement} button @param {() => void} act
 */
export function onPress(button, act) {
  watch(button);
  button.addEventListener('keydown', (e) => {
    if (e.repeat) e.preventDefault(); // a key that is held presses once
  });
  button.addEventListener('click', (e) => {
    if (byHand(e, button)) act();
  });
}
