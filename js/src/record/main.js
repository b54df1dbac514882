// @ts-check
// Notes, for the test kit, what a page does with its tools: which method it called, through which object, from which line, and
// when. It runs after the page script and before the page's own scripts, only in pages of whoever tests them: it hides from
// nobody, and a page that wants to deceive it can.

import { findAll, formElements, getAttribute, hasAttribute } from '../shim/formdom.js';

const { stringify } = JSON;
const { from } = Array;
const now = performance.now.bind(performance);
const soon = queueMicrotask.bind(window);
const most = 1000;
/** @type {RecordedNote[]} */
const notes = [];
/** @type {RecordedFrame[]} */
const told = [];
/** What a registration is known by while it lives. @type {Map<string, RecordedNote>} */
const live = new Map();
/** @type {Map<Promise<any>, RecordedNote>} */
const pending = new Map();
let dropped = 0;
let calls = 0;
/** Through which attribute the page was given the object: just now, and at all, where document's wins. */
let [recent, given] = ['', ''];
const through = () => recent || given || 'document';

/** Where the page called us: the first line of the stack that a script with an address wrote. */
function place() {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 30;
  const stack = `${new Error().stack}`;
  Error.stackTraceLimit = limit;
  for (const line of stack.split('\n')) {
    const found = /((?:https?|file|blob|data):[^\s()]+):(\d+):(\d+)\)?$/.exec(line);
    if (found !== null) return { url: found[1], line: Number(found[2]), column: Number(found[3]) };
  }
  return undefined;
}

/**
 * attempt returns what a page's value says, or undefined where looking at it throws.
 * @template T
 * @param {() => T} read
 */
function attempt(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * @param {string} kind
 * @param {string} tool
 * @param {Partial<RecordedNote>} [more]
 */
function note(kind, tool, more = {}) {
  /** @type {RecordedNote} */
  const entry = { at: now(), kind, tool, surface: through(), script: place(), ...more };
  if (notes.length < most) notes.push(entry);
  else dropped++;
  if (kind === 'unregister') live.delete(tool);
  else live.set(tool, entry);
  if (window !== top) attempt(() => top?.postMessage({ [mark]: { url: location.href, origin: self.origin, tool } }, '*'));
  return entry;
}

/** What a page calls a tool, which it may name alone. @param {any} tool */
const nameOf = (tool) => attempt(() => `${typeof tool === 'object' ? tool.name ?? '' : tool}`) ?? '';

/** The members of a declaration that browsers read, and what is none of its author's. */
const known = new Set(['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'execute', 'constructor']);
const mostOthers = 64;
/** How much of them is noted yet, of one page. */
let room = 4 << 20;

/** Returns a value as JSON, where a function that has none is null. @param {any} value */
const written = (value) => attempt(() => stringify(value)) ?? (typeof value === 'function' ? 'null' : undefined);

/** What people write for the names of types. @type {Set<any>} */
const languageTypes = new Set([String, Number, Boolean, Array, Object, Date, BigInt]);

/**
 * typesIn returns the names under which a schema has types of JavaScript, which JSON leaves out.
 * @param {any} schema
 */
function typesIn(schema) {
  /** @type {string[]} */
  const names = [];
  attempt(() => stringify(schema, (name, value) => {
    if (languageTypes.has(value) && names.length < 5) names.push(name);
    return value;
  }));
  return names;
}

/**
 * others returns the members of a declaration that no browser reads, as JSON, and what of the schema is none because it is a function.
 * Functions count where there is no execute.
 * @param {any} tool
 */
function others(tool) {
  let text = '';
  const runs = typeof tool.execute === 'function';
  const seen = new Set(known);
  const add = (/** @type {string} */ name, /** @type {any} */ value) => {
    const held = value === null || runs && typeof value === 'function' ? undefined : written(value);
    if (held === undefined || held.length > 65536 || (room -= name.length + held.length) < 0) return;
    text += `${text === '' ? '{' : ','}${stringify(name)}:${held}`;
  };
  const schema = attempt(() => tool.inputSchema);
  const types = typesIn(schema);
  if (typeof schema === 'function' && written(schema) === 'null') text = '{"inputSchema":null';
  else if (types.length > 0) text = `{"inputSchema":${stringify(types)}`;
  for (let holder = tool; holder !== null && holder !== Object.prototype; holder = Object.getPrototypeOf(holder)) {
    for (const name of Object.getOwnPropertyNames(holder)) {
      if (seen.has(name) || seen.size >= mostOthers) continue;
      seen.add(name);
      add(name, attempt(() => tool[name]));
    }
  }
  return text === '' ? undefined : `${text}}`;
}

/** What a declaration says in the page's own words. @param {any} tool */
function words(tool) {
  return {
    others: typeof tool === 'object' && tool !== null ? attempt(() => others(tool)) : undefined,
    annotations: attempt(() => (tool?.annotations === undefined ? undefined : stringify(tool.annotations))),
    title: attempt(() => (tool?.title === undefined ? undefined : `${tool.title}`)),
    description: attempt(() => (tool?.description === undefined ? undefined : `${tool.description}`)),
  };
}

/** How long an interaction goes on before a person is taken to be asked, as in the page script, in milliseconds. */
const patience = 100;
/** The tools that ask a person to act, of which nobody has heard. @type {string[]} */
const asking = [];
/** Hears of the next one. @type {((tool: string) => void) | null} */
let listener = null;

/**
 * asks tells that a tool asks a person to act in the page, until it is over.
 * @param {string} tool
 * @param {any} over the promise of the interaction
 */
function asks(tool, over) {
  const timer = setTimeout(() => {
    if (listener === null) {
      if (asking.length < most) asking.push(tool);
      return;
    }
    listener(tool);
    listener = null;
  }, patience);
  const end = () => {
    clearTimeout(timer);
    const at = asking.indexOf(tool);
    if (at >= 0) asking.splice(at, 1);
  };
  Promise.resolve(over).then(end, end);
}

/**
 * attended returns the tool as it is registered: a copy, whose execute tells the person of the kit when it asks. The page script
 * reads each member once, and of one that it refuses the plain ones.
 * @param {any} tool
 */
function attended(tool) {
  if (typeof tool !== 'object' || tool === null || !attempt(() => 'execute' in tool)) return tool;
  const get = () => heard(tool, copy, tool.execute);
  const prototype = attempt(() => Object.getPrototypeOf(tool));
  const plain = prototype === null || prototype === Object.prototype;
  const copy = plain
    ? Object.create(prototype, { ...Object.getOwnPropertyDescriptors(tool), execute: { enumerable: true, configurable: true, get } })
    : new Proxy({}, { has: (_, key) => key in tool, get: (_, key) => (key === 'execute' ? get() : tool[key]) }); // a class's own members are its own
  return copy;
}

/**
 * heard returns a tool's function as one that tells when it asks a person.
 * @param {any} tool
 * @param {any} copy of the tool
 * @param {any} value
 */
function heard(tool, copy, value) {
  if (typeof value !== 'function') return value;
  /** @param {any[]} args @this {any} */
  return function execute(...args) {
    attempt(() => {
      const agent = args[1];
      const request = agent.requestUserInteraction;
      agent.requestUserInteraction = (/** @type {any[]} */ ...asked) => {
        const over = Reflect.apply(request, agent, asked);
        asks(`${tool.name}`, over);
        return over;
      };
    });
    return Reflect.apply(value, this === copy ? tool : this, args);
  };
}

/** What the page script gets in the place of the arguments of a method. @type {{[method: string]: (args: any[]) => any[]}} */
const hear = {
  registerTool: (args) => args.map((one, i) => (i === 0 ? attended(one) : one)),
  provideContext: (args) => args.map((one, i) => (i === 0 && Array.isArray(one?.tools) ? { ...one, tools: one.tools.map(attended) } : one)),
};

/** What follows a call of each method; it returns what the page gets. @type {{[method: string]: (args: any[], result: any, surface: string) => any}} */
const after = {
  registerTool([tool, options], result, surface) {
    const name = nameOf(tool);
    const exposedTo = attempt(() => (options?.exposedTo === undefined ? undefined : Array.from(options.exposedTo, String)));
    const before = live.get(name);
    const entry = note('register', name, { surface, exposedTo, ...words(tool) });
    attempt(() => options?.signal?.addEventListener('abort', () => {
      if (live.get(name) === entry) note('unregister', name, { surface });
    }));
    if (!(result instanceof Promise)) return result;
    const outcome = result.then((value) => value, (error) => {
      // One that the page gave up again, as React's StrictMode does, was not refused.
      if (attempt(() => options.signal.aborted && error === options.signal.reason)) throw error;
      Object.assign(entry, { kind: 'refuse', message: `${error}` });
      if (live.get(name) === entry && before !== undefined) live.set(name, before);
      throw error;
    });
    pending.set(outcome, entry);
    return outcome;
  },
  unregisterTool([tool], result, surface) {
    note('unregister', nameOf(tool), { surface });
    return result;
  },
  provideContext([context], result) {
    const before = new Set(live.keys());
    for (const tool of attempt(() => Array.from(context?.tools ?? [])) ?? []) {
      const name = nameOf(tool);
      note(before.delete(name) ? 'replace' : 'register', name, { surface: 'provideContext', ...words(tool) });
    }
    for (const name of before) note('unregister', name, { surface: 'provideContext' });
    return result;
  },
  clearContext(_, result) {
    for (const name of Array.from(live.keys())) note('unregister', name, { surface: 'provideContext' });
    return result;
  },
};

/**
 * refused notes the tools of a method that threw; what was registered before under their names stays.
 * @param {string} method
 * @param {any} given
 * @param {string} message
 */
function refused(method, given, message) {
  /** @type {any[]} */
  const tools = { registerTool: [given], provideContext: attempt(() => Array.from(given.tools)) ?? [] }[method] ?? [];
  for (const tool of tools) {
    const name = nameOf(tool);
    const before = live.get(name);
    note('refuse', name, { message, ...words(tool) });
    if (before !== undefined) live.set(name, before);
  }
}

/**
 * watch notes the calls of the methods of an object.
 * @param {any} holder
 * @param {string} [surface]
 */
function watch(holder, surface) {
  for (const method in after) {
    const original = holder[method];
    if (typeof original !== 'function') continue;
    const seen = {
      /** @param {any[]} args */
      [method](...args) {
        let result;
        try {
          result = Reflect.apply(original, this, method in hear ? hear[method](args) : args);
        } catch (error) {
          refused(method, args[0], `${error}`);
          throw error;
        }
        try {
          return after[method](args, result, surface ?? through());
        } catch {
          return result; // what the page made of the language is the page's affair
        }
      },
    }[method];
    Object.defineProperty(holder, method, { value: seen, writable: true, enumerable: true, configurable: true });
  }
}

/**
 * access notes through which attribute the page got the object. A call right after counts as one through it; a later one may be
 * through an object that was kept.
 * @param {any} holder
 * @param {string} surface
 */
function access(holder, surface) {
  const property = Object.getOwnPropertyDescriptor(holder, 'modelContext');
  const get = property?.get;
  if (property === undefined || get === undefined) return;
  property.get = function modelContext() {
    if (given === '' || surface === 'document') given = surface;
    recent = surface;
    soon(() => { recent = ''; });
    return Reflect.apply(get, this, []);
  };
  Object.defineProperty(holder, 'modelContext', property);
}

/** @param {string} name @param {Element} element */
const attribute = (name, element) => getAttribute(element, name) ?? '';

/** @param {any} field @returns {RecordedField} */
function field(field) {
  const label = Array.from(field.labels ?? [], (/** @type {HTMLElement} */ x) => x.textContent?.trim()).join(' ');
  return {
    name: field.name, type: field.type ?? '', label: label || attribute('aria-label', field), required: field.required === true,
    description: attribute('toolparamdescription', field), autocomplete: attribute('autocomplete', field),
  };
}

/** @param {HTMLFormElement} form @returns {RecordedForm} */
function formOf(form) {
  const fields = Array.from(formElements(form)).filter((x) => /^(INPUT|SELECT|TEXTAREA)$/.test(x.tagName))
    .filter((x) => !/^(submit|button|reset|image)$/.test(/** @type {any} */ (x).type));
  return {
    name: attribute('toolname', form), description: attribute('tooldescription', form),
    declares: hasAttribute(form, 'toolname') || hasAttribute(form, 'tooldescription'), autoSubmit: hasAttribute(form, 'toolautosubmit'),
    method: attribute('method', form), action: attribute('action', form), fields: fields.slice(0, 100).map(field),
  };
}

/** @param {HTMLIFrameElement} frame @returns {RecordedFrame} */
function frameOf(frame) {
  return { url: frame.src, allowed: /(^|;)\s*tools\b/.test(frame.allow), name: frame.name };
}

const context = document.modelContext;
/** What a page can do with its tools, whatever it is shown of that. */
const own = {
  getTools: context.getTools.bind(context),
  executeTool: context.executeTool.bind(context),
  asked: () => new Promise((/** @type {(tool: string) => void} */ resolve) => {
    const tool = asking.shift();
    if (tool !== undefined) resolve(tool);
    else listener = resolve;
  }),
};
context.addEventListener('toolactivated', () => calls++);
watch(ModelContext.prototype);
watch(Object.getPrototypeOf(/** @type {any} */ (window).agent), 'agent');
access(Document.prototype, 'document');
access(Navigator.prototype, 'navigator');
addEventListener('unhandledrejection', (event) => {
  const entry = pending.get(event.promise);
  if (entry !== undefined) entry.unhandled = true;
}, true);
addEventListener('message', (event) => {
  const said = event.data?.[mark];
  if (said === undefined) return;
  event.stopImmediatePropagation();
  if (told.length < most) told.push({ url: `${said.url}`, origin: event.origin, registers: true, tool: `${said.tool}` });
}, true);

/**
 * show leaves of the interface what a host has. What is put in its place is assigned: what is defined would be taken for an object
 * of the page's own.
 * @param {{objects: string[], methods: string[], frozen: boolean}} surface
 */
function show({ objects, methods, frozen }) {
  /** @type {any} */
  const only = {};
  for (const method of methods) {
    only[method] = {
      /** @param {any[]} args */
      [method](...args) {
        [recent] = objects;
        return context[method](...args);
      },
    }[method];
  }
  const all = methods.length > 0 && !frozen ? Object.getOwnPropertyDescriptors(ModelContext.prototype) : {};
  for (const [name, { value }] of Object.entries(all)) {
    if (typeof value === 'function' && name !== 'constructor' && !methods.includes(name)) delete ModelContext.prototype[name];
  }
  for (const [name, holder] of /** @type {[string, any][]} */ ([['document', Document.prototype], ['navigator', Navigator.prototype]])) {
    if (objects.includes(name) && !frozen) continue;
    delete holder.modelContext;
    if (objects.includes(name)) holder.modelContext = Object.freeze(only);
  }
  delete (/** @type {any} */ (Navigator.prototype).modelContextTesting);
  delete (/** @type {any} */ (window).agent);
}

if (surface !== null) show(surface);
record = Object.assign(() => stringify({
  notes, dropped, told, calls, since: performance.timeOrigin,
  frames: from.call(Array, document.querySelectorAll('iframe'), frameOf).slice(0, most),
  forms: from.call(Array, findAll(document, 'form'), formOf).slice(0, most),
}), { own });
