// What the cases of the conformance suite stand on, and how one is run and reported. A file of cases calls
//   cases([name, script, expected, page]...)
// where script returns the outcome as a value with a JSON form (or a promise of one), expected is that value, and page says what the
// document of the case is: {host, headers: ['Name: value'], html}. Every case has a document of its own.
'use strict';

const query = new URLSearchParams(location.search);
let table = [];
const cases = (...list) => { table = list; };

/** The current object: document.modelContext, in every browser and in every frame. */
const mc = () => document.modelContext;

/** What this document waits for. A case that has no outcome says it. */
const waits = new Map();

/** during notes what is waited for while a promise is open. */
const during = (what, promise) => {
  const id = Symbol(what);
  waits.set(id, what);
  const over = () => waits.delete(id);
  promise.then(over, over);
  return promise;
};

/** tools returns the result of getTools. */
const tools = (options) => during('getTools', mc().getTools(options));

/** wait returns the promise of one event. */
const wait = (target, type) => new Promise((resolve) => target.addEventListener(type, resolve, {once: true}));

/** pause is some time that no event tells of. */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * known waits until the browser's own process knows of this document. What a frame registers before that, a browser with its own
 * WebMCP loses now and then, for ever: Chromium 156 does on a busy machine. A request comes after the document on the same way.
 */
const known = () => fetch(`${here}/204`).catch(() => 0);

/** registering is the HTML of a document that registers a tool as soon as it is known. */
const registering = (tool) => `<script>addEventListener('load', async () => { await fetch('${here}/204'); document.modelContext.registerTool(${tool}); })</script>`;

/** settle waits for events that come by other processes: a request takes the same ways, on a slow machine too. */
const settle = async () => {
  for (let i = 0; i < 4; i++) {
    await during('fetch', fetch('/204').catch(() => 0));
    await pause(40);
  }
};

/** kind tells what was thrown: its class, its name when that is another one, and its message. */
const kind = (thrown) => {
  const tag = Object.prototype.toString.call(thrown).slice(8, -1);
  if (tag !== 'Error' && tag !== 'DOMException') return `thrown ${tag}: ${JSON.stringify(thrown)}`;
  return `${tag === 'DOMException' ? 'DOMException ' : ''}${thrown.name}`;
};

/** name runs a function and tells the class of what it throws or rejects with, and which of the two it was. */
const name = async (run) => {
  let promise;
  try {
    promise = run();
  } catch (thrown) {
    return `throws ${kind(thrown)}`;
  }
  try {
    return {fulfilled: await promise ?? null};
  } catch (thrown) {
    return `rejects ${kind(thrown)}`;
  }
};

/** text is the same with the message. */
const text = async (run) => {
  try {
    return {fulfilled: await run() ?? null};
  } catch (thrown) {
    return `${kind(thrown)}: ${thrown?.message}`;
  }
};

/** sample is a tool that can be registered. */
const sample = (more) => ({name: 't', description: 'd', execute: () => 'done', ...more});
const register = (more, options) => during('registerTool', mc().registerTool(sample(more), options));

/** listed returns the names that getTools lists. */
const listed = async (options) => (await tools(options)).map((tool) => tool.name);
const find = async (toolName, options) => (await tools(options)).find((tool) => tool.name === toolName);


/** found waits for a tool. A case that waits for one that never comes has no outcome. */
const found = async (toolName, options) => {
  for (;;) {
    const tool = await find(toolName, options);
    if (tool !== undefined) return tool;
    await pause(100);
  }
};

/** call runs a tool as a page does. */
const call = async (toolName, ...rest) => mc().executeTool(await found(toolName), ...rest);

/** result registers a tool that returns the result of make, and calls it. */
const result = async (make) => {
  await register({execute: () => make()});
  return text(() => call('t'));
};

/** origins of the same server: another port is cross-origin and same-site, another name is cross-site. */
const here = location.origin;
const otherPort = query.get('port') === null ? '' : `http://${location.hostname}:${query.get('port')}`;
const otherSite = location.origin.replace('127.0.0.1', 'localhost');

/**
 * page is the address of a document that runs a script: options.headers, options.html, options.origin.
 * The script may use all of this file. It runs as an async function; what it returns or throws goes to the parent as a message.
 */
const page = (script, options = {}) => {
  const parameters = new URLSearchParams({port: query.get('port') ?? ''});
  if (script) parameters.set('js', typeof script === 'function' ? `(${script})()` : script);
  if (options.html) parameters.set('html', options.html);
  for (const header of options.headers ?? []) parameters.append('h', header);
  return `${options.origin ?? here}/page?${parameters}`;
};

/** frame adds a frame and waits for its load event; attributes other than src may be given. */
const frame = async (src, attributes = {}) => {
  const element = document.createElement('iframe');
  for (const attribute in attributes) element.setAttribute(attribute, attributes[attribute]);
  if (src !== undefined) element.src = src;
  const loaded = wait(element, 'load');
  document.body.append(element);
  await during('the load of a frame', loaded);
  return element;
};

/** framed adds a frame whose script reports, and returns that report and the frame. */
const framed = async (script, options = {}, attributes = {}) => {
  const element = document.createElement('iframe');
  for (const attribute in attributes) element.setAttribute(attribute, attributes[attribute]);
  const said = new Promise((resolve) => addEventListener('message', (event) => {
    if (event.source === element.contentWindow) resolve(event.data);
  }));
  element.src = page(script, options);
  document.body.append(element);
  const data = await during('the report of a frame', said);
  return {element, window: element.contentWindow, said: data};
};

/** form adds a form and waits until the browser has seen it, or would have. */
const form = async (html) => {
  const seen = Promise.race([wait(mc(), 'toolchange'), settle()]);
  document.body.insertAdjacentHTML('beforeend', html);
  await seen;
  return document.body.lastElementChild;
};

/** withForm is the script of a frame that adds a form. It comes after the frame is known. */
const withForm = (html) => `form(${JSON.stringify(html)}).then(() => settle())`;

const patience = 20000;

const report = (body) => fetch(`${here}/result?id=${query.get('id')}`, {method: 'POST', body: JSON.stringify(body)});

/** list reports what the file has. */
const list = () => report(table.map(([title, , expected, where]) => ({name: title, expected, page: where ?? {}})));

/** run runs one case and reports its outcome. */
const run = async (title) => {
  const entry = table.find((row) => row[0] === title);
  if (entry === undefined) return report({outcome: `there is no case ${title}`});
  const late = pause(patience).then(() => `no outcome in time, waits for ${[...waits.values()].join(', ')}`);
  let outcome;
  try {
    outcome = await Promise.race([entry[1](), late]);
  } catch (thrown) {
    outcome = `the script threw ${kind(thrown)}: ${thrown?.message}`;
  }
  return report({outcome: outcome === undefined ? null : outcome});
};

/** frameScript runs the script of a frame. */
const frameScript = async () => {
  const script = query.get('js');
  if (script === null) return;
  if (document.readyState !== 'complete') await wait(window, 'load');
  await known();
  let data;
  try {
    data = await (0, eval)(script);
  } catch (thrown) {
    data = `${kind(thrown)}: ${thrown?.message}`;
  }
  parent.postMessage(data === undefined ? null : data, '*');
};
