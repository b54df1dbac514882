// @ts-check
// Says what a document shows to whoever submits a form in it, or whose form led to it. It runs in a world of its own, whose
// functions no page can change.

const most = { texts: 16, text: 1024, title: 512, address: 8192, words: 65536, stored: 1000 };
const regions = { alerts: '[role=alert],[aria-live=assertive]', statuses: '[role=status],[aria-live=polite],output' };
const shown = ['hidden', 'open', 'style', 'class', 'aria-hidden', 'aria-invalid', 'checked', 'src', 'href'];

/** What the document was like at the submit. @type {AnswerBefore | null} */
let before = null;
const observer = new MutationObserver(note);

/** arm remembers the document as it is at the next submit event; until one comes, as it is now. */
function arm() {
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
    form, values: values(form), address: location.href, title: document.title, alerts, unfilled: unfilled ?? alerts,
    statuses: texts(regions.statuses, trees), linked: linked(), stored: stored(), touched: new Set(), changed: false, last: performance.now(),
  };
  for (const root of trees) observer.observe(root, { subtree: true, childList: true, characterData: true, attributeFilter: shown });
}

/** roots returns the document and the shadow trees in it that are open. */
function roots() {
  /** @type {(Document | ShadowRoot)[]} */
  const all = [document];
  for (const root of all) {
    for (const { shadowRoot } of root.querySelectorAll('*')) if (shadowRoot !== null) all.push(shadowRoot);
  }
  return all;
}

/**
 * find returns the elements of a kind in the trees.
 * @param {string} selector
 * @param {(Document | ShadowRoot)[]} trees
 */
const find = (selector, trees) => trees.flatMap((root) => [...root.querySelectorAll(selector)]);

/** @param {MutationRecord[]} records */
function note(records) {
  if (before === null) return;
  for (const { target, type, attributeName } of records) {
    const element = target instanceof Element ? target : target.parentElement;
    if (type === 'attributes' && attributeName === 'class' && element !== null && isMarked(element)) continue; // by a call
    before.changed = true;
    before.last = performance.now();
    const region = element?.closest(`${regions.alerts},${regions.statuses}`);
    if (region) before.touched.add(region);
  }
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
  all.invalid = invalid(known);
  // A library may check a field as soon as it is filled.
  all.alerts = since(known, trees, regions.alerts, all.invalid.length > 0 ? known.unfilled : known.alerts);
  all.statuses = since(known, trees, regions.statuses, known.statuses);
  const changes = {
    document: known.changed, address: known.address !== location.href, title: known.title !== document.title,
    form: known.form !== null && known.form.isConnected && known.values !== values(known.form), storage: known.stored !== stored(),
  };
  all.changed = Object.entries(changes).flatMap(([name, is]) => (is ? [name] : []));
  if (all.linked === known.linked) all.linked = '';
  return written(all, maxBytes);
}

/**
 * read returns, once the document was loaded, what it shows.
 * @param {number} maxBytes
 * @returns {Promise<string>}
 */
function read(maxBytes) {
  return new Promise((resolve) => {
    const done = () => resolve(written(page(roots()), maxBytes));
    if (document.readyState === 'complete') done();
    else addEventListener('load', () => setTimeout(done), { once: true });
  });
}

/**
 * @param {(Document | ShadowRoot)[]} trees
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
    linked: linked(),
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
 * @param {(Document | ShadowRoot)[]} trees
 */
const texts = (selector, trees) => find(selector, trees).flatMap(textOf).slice(0, most.texts);

/** @param {Element} element */
function textOf(element) {
  const text = element.checkVisibility() && element instanceof HTMLElement ? element.innerText.replace(/\s+/g, ' ').trim() : '';
  return text === '' ? [] : [text.slice(0, most.text)];
}

/**
 * since returns the texts of a kind that came: other ones than before, or said again.
 * @param {AnswerBefore} known
 * @param {(Document | ShadowRoot)[]} trees
 * @param {string} selector
 * @param {string[]} old
 */
function since(known, trees, selector, old) {
  return find(selector, trees).flatMap((element) => textOf(element).filter((text) => !old.includes(text) || known.touched.has(element))).slice(0, most.texts);
}

/**
 * invalid returns the fields of the form that the page, or the browser, takes for wrong. The empty fields of a form that was
 * reset are not.
 * @param {AnswerBefore} known
 */
function invalid({ form, values: old }) {
  if (form === null || !form.isConnected) return [];
  const same = old === values(form);
  return [...form.elements].flatMap((field) => {
    const said = field.getAttribute('aria-invalid');
    const wrong = 'validity' in field && field.validity instanceof ValidityState && !field.validity.valid;
    if (!(said !== null && said !== 'false' && said !== '') && !(wrong && same)) return [];
    const id = field.getAttribute('aria-errormessage') ?? field.getAttribute('aria-describedby') ?? '';
    const notes = id.split(/\s+/).flatMap((one) => document.getElementById(one) ?? []).flatMap(textOf);
    const native = wrong && 'validationMessage' in field ? String(field.validationMessage) : '';
    return [{ field: (field.getAttribute('name') ?? field.id).slice(0, 128), message: (notes.join(' ') || native).slice(0, most.text) }];
  }).slice(0, most.texts);
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
    return JSON.stringify([localStorage, sessionStorage].map((area) => {
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
