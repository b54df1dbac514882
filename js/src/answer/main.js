// @ts-check
// Says what a document shows to whoever submits a form in it, or whose form led to it. It runs in a world of its own, whose
// functions no page can change.

const most = { texts: 16, text: 1024, title: 512, address: 8192, words: 65536, stored: 1000, heard: 200 };
const regions = {
  alerts: '[role~=alert i],[role~=alertdialog i],[aria-live=assertive i]',
  statuses: '[role~=status i],[aria-live=polite i],output',
};
const anyRegion = `${regions.alerts},${regions.statuses}`;
const shown = [
  'hidden', 'open', 'style', 'class', 'aria-hidden', 'aria-invalid', 'checked', 'src', 'href', 'value',
  'aria-expanded', 'aria-checked', 'aria-selected', 'aria-pressed', 'aria-current',
];
/** How long the scripts of a document that says nothing must be quiet, and how long they are waited for, in ms. */
const late = { quiet: 500, patience: 2000 };
/** How long what changed after a submit is looked at, in ms: what a clock of the page changes, it changes again. */
const tick = 1250;
/** So many microtasks may follow each other in what a handler does at once. */
const hops = 64;
/** The gap between two changes of a clock, at least, and between two that count as two, in ms. */
const gaps = { clock: 900, least: 10 };

/** What the document was like at the submit. @type {AnswerBefore | null} */
let before = null;
const observer = new MutationObserver(note);

/** arm remembers the document as it is at the next submit event; until one comes, as it is now. */
function arm() {
  if (calls.began === 0) requests.observe({ type: 'resource', buffered: true });
  count(requests.takeRecords());
  for (const times of asked.values()) times.called = [];
  calls.began = performance.now();
  calls.ended = Infinity;
  removeEventListener('submit', submits, true);
  remember(null);
  addEventListener('submit', submits, true);
  return '';
}

/** @param {Event} event */
function submits(event) {
  if (!event.isTrusted) return;
  removeEventListener('submit', submits, true);
  remember(event.target instanceof HTMLFormElement ? event.target : null, before?.unfilled);
  const known = /** @type {AnswerBefore} */ (before);
  const over = () => { // what the handlers did at once is theirs
    removeEventListener('submit', handled);
    if (known !== before || known.soon !== null) return;
    note(observer.takeRecords());
    known.soon = state(known);
  };
  const hop = (left = hops) => queueMicrotask(() => (left > 0 ? hop(left - 1) : over()));
  const handled = () => hop();
  addEventListener('submit', handled); // after those of the page, and before any timer or frame of it
  setTimeout(over);
}

/**
 * @param {HTMLFormElement | null} form
 * @param {string[]} [unfilled] the alerts before the form was filled, unless that is now
 */
function remember(form, unfilled) {
  observer.disconnect();
  const trees = roots();
  const alerts = texts(regions.alerts, trees);
  before = {
    form, was: { address: '', title: '', form: '', storage: '', document: '' }, soon: null, moved: {}, alerts, unfilled: unfilled ?? alerts,
    statuses: texts(regions.statuses, trees), linked: linked(), touched: new Set(), heard: new Map(),
    hearings: 0, busy: find(working, trees).length, disabled: disabled(form), changed: false, later: new Map(), last: performance.now(),
  };
  before.was = state(before);
  for (const root of trees) observer.observe(root, { subtree: true, childList: true, characterData: true, attributeFilter: shown });
}

/**
 * state returns what the document is like besides its nodes.
 * @param {AnswerBefore} known
 * @returns {AnswerState}
 */
function state({ form, was }) {
  return {
    address: location.href, title: document.title, form: form?.isConnected ? values(form) : was.form, storage: stored(), document: controls(form),
  };
}

/**
 * roots returns the document, or the element, and the shadow trees in it that are open.
 * @param {Document | Element} [from]
 */
function roots(from = document) {
  /** @type {Tree[]} */
  const all = [from];
  for (const root of all) {
    for (const { shadowRoot } of root.querySelectorAll('*')) if (shadowRoot !== null) all.push(shadowRoot);
  }
  return all;
}

/**
 * find returns the elements of a kind in the trees.
 * @param {string} selector
 * @param {Tree[]} trees
 */
const find = (selector, trees) => trees.flatMap((root) => [...root.querySelectorAll(selector)]);

/** @param {MutationRecord[]} records */
function note(records) {
  if (before === null) return;
  for (const { target, type, attributeName, addedNodes } of records) {
    const element = target instanceof Element ? target : target.parentElement;
    if (type === 'attributes' && attributeName === 'class' && element !== null && isMarked(element)) continue; // by a call
    if (attributeName === 'value' && element instanceof HTMLInputElement) continue; // libraries keep it in step
    before.last = performance.now();
    if (before.soon === null) before.changed = true;
    else changesLater(element ?? target.parentNode ?? target, before);
    const region = element?.closest(anyRegion);
    if (region) {
      before.touched.add(region);
      hear(region, before);
    }
    for (const node of addedNodes) {
      if (node instanceof Element) for (const one of [node, ...node.querySelectorAll(anyRegion)]) hear(one, before);
    }
  }
}

/**
 * changesLater notes a change after the submit: its handler did it in its own time, or the page does so without it.
 * @param {Node} node
 * @param {AnswerBefore} known
 */
function changesLater(node, { later }) {
  const now = performance.now();
  const times = later.get(node) ?? [];
  if (times.length === 0 && later.size >= most.heard) return;
  if (times.length === 0 || now - times[times.length - 1] > gaps.least) later.set(node, [...times.slice(-2), now]);
}

/**
 * ticks tells whether a node changes by itself: at a steady pace, and still. What a page says in a region may change once.
 * @param {Node} node
 * @param {number[]} times when it changed lately
 */
function ticks(node, times) {
  const gap = times[times.length - 1] - times[times.length - 2];
  const element = node instanceof Element ? node : node.parentElement;
  const clock = gap > gaps.clock && !element?.closest(anyRegion);
  return (steady(times) || clock) && performance.now() - times[times.length - 1] < 1.3 * gap + 20;
}

/**
 * steady tells whether the last of three times follow each other at a pace.
 * @param {number[]} times
 */
function steady(times) {
  const [one, two, three] = times.slice(-3);
  return Math.abs(three - two - (two - one)) <= 100 + Math.max(three - two, two - one) / 4; // false with less than three
}

/**
 * hear remembers what a region says: it may be gone when the page is read.
 * @param {Element} element
 * @param {AnswerBefore} known
 */
function hear(element, known) {
  if (!element.matches(anyRegion) || ++known.hearings > most.heard) return;
  const [text] = textOf(element);
  if (text !== undefined) known.heard.set(element, { text, alert: element.matches(regions.alerts) });
}

/** @param {Element} element */
const isMarked = (element) => element === before?.form || element.matches('button,input[type=submit],input[type=image]');

/**
 * settle waits until the document has not changed for some time from now on, at most patience, and returns what came since the submit.
 * @param {number} quiet
 * @param {number} patience
 * @param {number} maxBytes
 * @returns {Promise<string>}
 */
function settle(quiet, patience, maxBytes) {
  const began = performance.now();
  const end = began + patience;
  calls.ended = Infinity;
  return new Promise((resolve) => {
    const look = () => {
      note(observer.takeRecords());
      const left = Math.min(Math.max(before?.last ?? 0, began) + quiet, end) - performance.now();
      if (left > 0) setTimeout(look, left);
      else resolve(came(maxBytes));
    };
    look();
  });
}

/** @param {number} maxBytes */
function came(maxBytes) {
  const known = before;
  const trees = roots();
  const all = page(trees);
  if (known === null) return written(all, maxBytes);
  const now = performance.now();
  const moves = state(known);
  const changed = new Set(known.changed ? ['document'] : []);
  for (const name of /** @type {(keyof AnswerState)[]} */ (Object.keys(moves))) {
    const soon = known.soon ?? moves;
    if (soon[name] !== known.was[name]) changed.add(name);
    else if (moves[name] !== soon[name]) known.moved[name] ??= { at: now, value: moves[name], again: false };
    const moved = known.moved[name];
    if (moved !== undefined && moves[name] !== moved.value) moved.again = true;
  }
  const sure = changed.size > 0;
  const tickers = [...known.later].flatMap(([node, times]) => (ticks(node, times) ? [node] : []));
  let first = Infinity;
  for (const [node, times] of known.later) {
    if (tickers.includes(node)) continue;
    changed.add('document');
    first = Math.min(first, times[0]);
  }
  for (const [name, { at, again }] of Object.entries(known.moved)) {
    if (again) continue;
    changed.add(name);
    first = Math.min(first, at);
  }
  all.invalid = invalid(known);
  // A library may check a field as soon as it is filled.
  all.alerts = since(known, trees, regions.alerts, all.invalid.length > 0 ? known.unfilled : known.alerts, tickers);
  all.statuses = since(known, trees, regions.statuses, known.statuses, tickers);
  all.changed = ['document', 'address', 'title', 'form', 'storage'].filter((name) => changed.has(name));
  all.unsure = !sure && first < Infinity && now - first < tick;
  all.polls = polls();
  if (all.linked === known.linked) all.linked = '';
  all.busy = busy(known, trees, all.statuses);
  return written(all, maxBytes);
}

/** When scripts asked for an address, apart from calls and lately, and in the last call. @type {Map<string, {alone: number[], called: number[]}>} */
const asked = new Map();
/** When the last call began, and when what came of it was looked at last. */
const calls = { began: 0, ended: 0 };
const requests = new PerformanceObserver((list) => count(list.getEntries()));

/** @param {PerformanceEntry[]} entries */
function count(entries) {
  for (const { name, startTime, initiatorType } of /** @type {PerformanceResourceTiming[]} */ (entries)) {
    if (!/^(fetch|xmlhttprequest)$/.test(initiatorType)) continue;
    const key = name.slice(0, most.address).replace(/#.*/s, '').replace(/\d+/g, '#');
    if (!asked.has(key) && asked.size >= most.heard) continue;
    const times = asked.get(key) ?? { alone: [], called: [] };
    asked.set(key, times);
    (startTime < calls.began || startTime > calls.ended ? times.alone : times.called).push(startTime);
    times.alone.splice(0, times.alone.length - 8);
    times.called.length = Math.min(times.called.length, 2);
  }
}

/** polls returns the addresses that the page asks for at a steady pace, which it did before the call, with # for numbers. */
function polls() {
  count(requests.takeRecords());
  calls.ended = performance.now();
  return [...asked].flatMap(([address, { alone, called }]) => {
    const times = [...alone, ...called];
    return alone.some((_, i) => steady(times.slice(i, i + 3))) ? [address] : [];
  }).slice(0, most.texts);
}

const working = '[aria-busy=true i]';

/**
 * busy says how the page shows that it is not done: 'says' by aria-busy or a status with an ellipsis, 'button' by a button that it
 * disabled.
 * @param {AnswerBefore} known
 * @param {Tree[]} trees
 * @param {string[]} statuses
 * @returns {AnswerPage['busy']}
 */
function busy(known, trees, statuses) {
  if (find(working, trees).length > known.busy || statuses.some((text) => /(…|\.\.\.)$/.test(text))) return 'says';
  return statuses.length === 0 && disabled(known.form) > known.disabled ? 'button' : '';
}

/** @param {HTMLFormElement | null} form */
const disabled = (form) => [...form?.elements ?? []].filter((field) => field.matches('button:disabled,input[type=submit i]:disabled')).length;

/** @param {HTMLFormElement | null} form whose controls do not count */
function controls(form) {
  const all = [...document.querySelectorAll('input,select,textarea')].slice(0, most.stored);
  return JSON.stringify(all.flatMap((field) => ('value' in field && 'form' in field && field.form !== form ? [field.value, 'checked' in field && field.checked] : [])));
}

/**
 * read returns what the document shows once it was loaded, and, where it says nothing, once its scripts had time to. One that
 * never ends to load is read as it is.
 * @param {number} maxBytes
 * @returns {Promise<string>}
 */
async function read(maxBytes) {
  const end = performance.now() + late.patience;
  await new Promise((resolve) => {
    if (document.readyState === 'complete') resolve(0);
    addEventListener('load', () => setTimeout(resolve), { once: true });
    setTimeout(resolve, late.patience);
  });
  const all = page(roots());
  const says = all.linked !== '' || all.text !== '' || all.alerts.length + all.statuses.length > 0;
  if (says || ![...document.scripts].some(({ type }) => /^(module|(text|application)\/javascript)?$/i.test(type))) return written(all, maxBytes);
  await calm(late.quiet, Math.max(end - performance.now(), late.quiet));
  return written(page(roots()), maxBytes);
}

/**
 * @param {Tree[]} trees
 * @returns {AnswerPage}
 */
function page(trees) {
  const [entry] = performance.getEntriesByType('navigation');
  const html = /^(text\/html|application\/xhtml\+xml)$/.test(document.contentType);
  const body = html ? '' : document.body?.innerText ?? document.documentElement?.textContent ?? '';
  return {
    status: entry instanceof PerformanceNavigationTiming ? entry.responseStatus : 0,
    address: location.href.slice(0, most.address), title: document.title.slice(0, most.title),
    alerts: texts(regions.alerts, trees), statuses: texts(regions.statuses, trees), text: body.slice(0, most.words), invalid: [], changed: [],
    unsure: false, polls: [], busy: '', linked: linked(),
  };
}

/**
 * @param {AnswerPage} all
 * @param {number} maxBytes
 */
function written(all, maxBytes) {
  if (new TextEncoder().encode(all.linked).length > maxBytes) return JSON.stringify({ ...all, linked: '', tooLarge: true });
  return JSON.stringify(all).toWellFormed();
}

/**
 * texts returns what the elements of a kind in the trees show.
 * @param {string} selector
 * @param {Tree[]} trees
 */
const texts = (selector, trees) => find(selector, trees).flatMap(textOf).slice(0, most.texts);

/** @param {Element} element */
function textOf(element) {
  const text = element.checkVisibility() && element instanceof HTMLElement ? element.innerText.replace(/\s+/g, ' ').trim() : '';
  return text === '' ? [] : [text.slice(0, most.text)];
}

/**
 * since returns the texts of a kind that came: other ones than before, said again, or gone meanwhile.
 * @param {AnswerBefore} known
 * @param {Tree[]} trees
 * @param {string} selector
 * @param {string[]} old
 * @param {Node[]} tickers what they say does not count
 */
function since(known, trees, selector, old, tickers) {
  const isTicker = (/** @type {Element} */ element) => tickers.some((node) => element.contains(node));
  const all = find(selector, trees).filter((element) => !isTicker(element))
    .flatMap((element) => textOf(element).filter((text) => !old.includes(text) || known.touched.has(element)));
  for (const [element, { text, alert }] of known.heard) {
    if (alert === (selector === regions.alerts) && textOf(element).length === 0 && !all.includes(text) && !isTicker(element)) all.push(text);
  }
  return all.slice(0, most.texts);
}

/**
 * invalid returns the fields of the form that the page, or the browser, takes for wrong. The empty fields of a form that was
 * reset are not.
 * @param {AnswerBefore} known
 */
function invalid({ form, was: { form: old } }) {
  if (form === null || !form.isConnected) return [];
  const same = old === values(form);
  return [...new Set([...form.elements, ...find('[aria-invalid]', roots(form))])].flatMap((field) => {
    const said = field.getAttribute('aria-invalid');
    const wrong = field.matches(':invalid:not(fieldset)'); // which elements with internals of their own are, too
    if (!(said !== null && said !== 'false' && said !== '') && !(wrong && same)) return [];
    const id = field.getAttribute('aria-errormessage') ?? field.getAttribute('aria-describedby') ?? '';
    const root = field.getRootNode();
    const tree = root instanceof ShadowRoot ? root : document;
    const notes = id.split(/\s+/).flatMap((one) => tree.getElementById(one) ?? []).flatMap(textOf);
    const native = wrong && 'validationMessage' in field ? String(field.validationMessage) : '';
    return [{ field: nameOf(field, root).slice(0, 128), message: (notes.join(' ') || native).slice(0, most.text) }];
  }).slice(0, most.texts);
}

/**
 * @param {Element} field
 * @param {Node} root
 */
function nameOf(field, root) {
  const host = root instanceof ShadowRoot ? root.host.getAttribute('name') : null;
  return field.getAttribute('name') || host || field.id || (field.getAttribute('aria-label') ?? '');
}

/** @param {HTMLFormElement | null} form */
function values(form) {
  if (form === null) return '';
  return JSON.stringify([...form.elements].map((field) => ('value' in field ? [field.value, 'checked' in field && field.checked] : 0)));
}

/** linked is the list of the JSON-LD blocks, each as it was written; '' without one. A block that is not JSON says nothing. */
function linked() {
  const blocks = [...document.querySelectorAll('script[type="application/ld+json"]')].flatMap(({ textContent }) => {
    try {
      JSON.parse(textContent ?? '');
      return [(textContent ?? '').toWellFormed()];
    } catch {
      return [];
    }
  });
  return blocks.length === 0 ? '' : `[${blocks.join(',')}]`;
}

/** stored is what the document keeps in its storage; a document may have none. */
function stored() {
  try {
    return document.cookie + JSON.stringify([localStorage, sessionStorage].map((area) => {
      if (area.length > most.stored) return area.length;
      return Object.keys(area).sort().map((key) => [key, area.getItem(key)]);
    }));
  } catch {
    return '';
  }
}

/**
 * calm waits until nothing came into the document, or left it, for some time, at most patience.
 * @param {number} quiet
 * @param {number} patience
 * @returns {Promise<string>}
 */
function calm(quiet, patience) {
  const end = performance.now() + patience;
  let last = performance.now();
  const changes = new MutationObserver(() => { last = performance.now(); });
  changes.observe(document, { subtree: true, childList: true, characterData: true });
  return new Promise((resolve) => {
    const look = () => {
      const left = Math.min(last + quiet, end) - performance.now();
      if (left > 0) {
        setTimeout(look, left);
        return;
      }
      changes.disconnect();
      resolve('');
    };
    look();
  });
}

answer = { arm, settle, read, calm };
