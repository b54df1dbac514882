// @ts-check
// The entry of the bundle for tabs that use the browser's own WebMCP. The registry and the older generations are those of the
// shim; every tool of the registry is registered with the browser too, which shows it to pages and to the DevTools protocol and
// runs it. A call of ours comes through the browser with one member, the tab's secret, and goes the shim's way from there: so the
// input is exact, the result keeps its type, and a tool that took another's place is not run. See
// docs/decisions/2026-11-22-native-engine.md.

import { abortAll, abortCall, startCall } from './calls.js';
import { ModelContextAgent } from './dialects/agent.js';
import { announce, defineHandlers, targets } from './dialects/events.js';
import { readManifest } from './dialects/manifest.js';
import { ModelContext, checkThis, claim, share } from './dialects/modelcontext.js';
import { LegacyMethods } from './dialects/provide.js';
import { global } from './dom.js';
import { isObject } from './encode.js';
import { describe, domError } from './errors.js';
import { attributeOf, eventTarget, getAttribute, isConnected, targetOf } from './formdom.js';
import {
  NativeAbortController, NativeEventTarget, NativeMap, NativePromise, NativeSet, addEventListener, append, apply, construct, controllerAbort,
  controllerSignal, defaultPrevented, defineProperty, freeze, getOwnPropertyDescriptor, hasOwn, jsonParse, mapDelete, mapForEach, mapGet,
  mapHas, mapSet, members, own, promiseThen, setAdd, setHas, timeout, uncurry,
} from './natives.js';
import { beginFaults, failed, fault, problem, refuse, watchProblems } from './problems.js';
import { browser, eachVisible, find, nothing, registrar, remove, replaceManifest, wait, watch } from './registry.js';
import { answerCall, awaitCall, remindCall } from './replies.js';
import { saves } from './saves.js';

/** What opens the target of a form that submits itself. */
const targetPrefix = 'target ';
const [agentInvoked, eventSubmitter] = members('SubmitEvent', 'agentInvoked', 'submitter');
const [eventPhase] = members('Event', 'eventPhase');

/** What opens our answers, so that the browser does not take them for JSON. */
const answerPrefix = 'pagetools ';

const Browser = /** @type {any} */ (global).ModelContext;
const [brandNavigator] = members('Navigator', 'userAgent');

/** @type {AdapterHost} */
const host = { __proto__: null, registrar, wait, find, failed, problem, context: () => null, adapt: null, saves };

/** The registrations with the browser. @type {Map<Tool, {controller: AbortController, done: Promise<any>}>} */
const registered = new NativeMap();

/** @returns {Refusal} */
function refusal() {
  const message = 'The browser gives this document no WebMCP of its own: it is not a secure context, or the feature is off.';
  return { __proto__: null, name: '', rule: 'no-native-webmcp', message, next: null };
}

function install() {
  const prototype = Browser.prototype;
  const registerNative = uncurry(prototype.registerTool);
  const getTools = uncurry(prototype.getTools);
  const executeTool = uncurry(prototype.executeTool);
  const [contextOf] = members('Document', 'modelContext');
  targets.native = true;
  targets.agent = claim(construct(NativeEventTarget, [], ModelContextAgent));
  share(LegacyMethods, Browser);
  share(LegacyMethods, ModelContextAgent);
  share(AgentQueries, ModelContextAgent);
  for (const holder of [prototype, ModelContextAgent.prototype]) {
    const descriptor = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(ModelContext.prototype, 'registerTool'));
    defineProperty(holder, 'registerTool', { __proto__: null, ...descriptor, enumerable: true });
  }
  defineHandlers(ModelContextAgent.prototype, checkThis);
  defineHandlers(global, () => global);
  defineProperty(global, 'agent', { __proto__: null, value: targets.agent, writable: true, enumerable: true, configurable: true });
  // Whoever gets the browser's object gets it through us, so that the methods above know it.
  define(Document.prototype, {
    get modelContext() {
      return /** @type {unknown} */ (this) === document ? meet() : contextOf(this);
    },
  });
  define(Navigator.prototype, {
    get modelContext() {
      brandNavigator(this);
      return meet();
    },
    set modelContext(_) {},
  });
  watchAnswers();
  addEventListener(/** @type {any} */ (global).navigation, 'navigate', onNavigate, true);
  browser.changed = () => synchronise(meet, registerNative);
  browser.settle = (tool, pending) => {
    const registration = mapGet(registered, tool);
    if (registration === undefined) pending.resolve();
    else promiseThen(registration.done, pending.resolve, pending.reject);
  };
  host.context = meet;
  queries.getTools = (options) => getTools(meet(), options);
  queries.executeTool = (tool, input, options) => executeTool(meet(), tool, input, options);
  readManifest();

  /**
   * A window can get another document, and what the browser has is the document's. It is left alone until somebody needs it: the
   * browser ends the process of a frame that speaks of tools while it goes to another site.
   */
  function meet() {
    const now = contextOf(document);
    if (now === targets.context) return now;
    targets.context = claim(now);
    return now;
  }
}

/** What window.agent passes on to the browser. @type {{[method: string]: (...rest: any[]) => any}} */
const queries = { getTools: nothing, executeTool: nothing };

class AgentQueries {
  getTools(options = undefined) {
    return queries.getTools(options);
  }

  /** @param {any} tool */
  executeTool(tool, inputObject = undefined, options = undefined) {
    return queries.executeTool(tool, inputObject, options);
  }
}

/**
 * @param {object} holder
 * @param {object} accessors
 */
function define(holder, accessors) {
  const descriptor = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(accessors, 'modelContext'));
  defineProperty(holder, 'modelContext', { __proto__: null, ...descriptor });
}

/** What the last answer of a form was refused with. */
let refused = '';

/** watchAnswers keeps what a page rejects a form's answer with: the browser says only that it did. */
function watchAnswers() {
  const prototype = /** @type {any} */ (SubmitEvent.prototype);
  const native = uncurry(prototype.respondWith);
  const methods = {
    /** @param {any} answer */
    respondWith(answer) {
      if (arguments.length === 0) return native(this);
      const promise = own(new NativePromise((resolve) => resolve(answer)));
      promiseThen(promise, nothing, (/** @type {any} */ error) => {
        refused = describe(error).message;
      });
      return native(this, promise);
    },
  };
  defineProperty(prototype, 'respondWith', { value: methods.respondWith, writable: true, enumerable: true, configurable: true });
}

/** The forms that are called, by name, and what is known of their submits. @type {Map<string, NativeSubmit>} */
const submits = new NativeMap();

/**
 * expect is said before each call of a form.
 * @param {string} name
 */
function expect(name) {
  beginFaults();
  mapGet(submits, name)?.resolve('');
  /** @type {any} */
  const submit = { __proto__: null, promise: null, resolve: nothing, known: nothing };
  submit.promise = own(new NativePromise((resolve) => { submit.resolve = resolve; }));
  mapSet(submits, name, submit);
  addEventListener(global, 'submit', onSubmit, true); // again: document.open takes the listeners of a window away
  return '';
}

/** @param {string} name */
const submission = (name) => mapGet(submits, name)?.promise ?? '';

/**
 * onSubmit knows, when the event of a call is over, that no script took it. The browser waits for a document then, which does not
 * come when a router takes the navigation, or a script is where it leads.
 * @param {Event} event
 */
function onSubmit(event) {
  if (!event.isTrusted || !agentInvoked(event)) return;
  const form = eventTarget(event);
  const submit = mapGet(submits, getAttribute(form, 'toolname'));
  if (submit === undefined) return;
  const known = () => {
    const button = eventSubmitter(event);
    if (eventPhase(event) !== 0 || defaultPrevented(event) || !isConnected(form) || attributeOf(form, button, 'method') === 'dialog') return;
    submit.resolve(targetPrefix + targetOf(form, button));
  };
  submit.known = known;
  timeout(known);
  // A timer can be late for the navigation, which begins with this; what a router does with it comes later.
  addEventListener(global, 'beforeunload', known, { __proto__: null, once: true, capture: true });
}

/** onNavigate comes before a router takes a navigation, and may ask for a confirmation in which no timer runs. */
const onNavigate = () => mapForEach(submits, (/** @type {NativeSubmit} */ submit) => submit.known());

/** Where toolchange is heard. @type {object | null} */
let heard = null;

/**
 * synchronise has the browser know the tools that the registry shows, and no others of ours.
 * @param {() => object} meet
 * @param {(context: object, declaration: object, options: object) => Promise<any>} register
 */
function synchronise(meet, register) {
  const visible = new NativeSet();
  eachVisible((tool) => setAdd(visible, tool));
  mapForEach(registered, (/** @type {any} */ registration, /** @type {Tool} */ tool) => {
    if (setHas(visible, tool)) return;
    mapDelete(registered, tool);
    controllerAbort(registration.controller, domError('AbortError', 'The tool was unregistered.'));
  });
  eachVisible((tool) => {
    if (mapHas(registered, tool)) return;
    const context = meet();
    if (heard !== context) addEventListener(context, 'toolchange', () => announce('toolchange'));
    heard = context;
    const controller = new NativeAbortController();
    const options = { __proto__: null, signal: controllerSignal(controller), exposedTo: origins(tool) };
    const done = own(register(context, declaration(tool), options));
    mapSet(registered, tool, { controller, done });
    promiseThen(done, nothing, (/** @type {any} */ error) => {
      if (!mapDelete(registered, tool)) return;
      const { adapter } = registrar;
      registrar.adapter = tool.adapter;
      refuse(tool, error, '');
      registrar.adapter = adapter;
      remove(tool.name, tool);
    });
  });
}

/** @param {Tool} tool */
function origins(tool) {
  /** @type {string[]} */
  const list = [];
  for (let entry = tool.exposedTo; entry !== null; entry = entry.next) append(list, entry.url);
  return list;
}

/** @param {Tool} tool */
function declaration(tool) {
  const { inputSchema, name, description, title } = tool;
  return {
    __proto__: null, name, description, title, execute: runner(tool),
    inputSchema: inputSchema ? jsonParse(inputSchema) : undefined,
    annotations: tool.annotated ? jsonParse(`{${tool.annotations}}`) : undefined,
  };
}

/**
 * runner returns the function that the browser calls. A call without the tab's secret is the page's own.
 * @param {Tool} tool
 */
function runner(tool) {
  return (/** @type {any} */ input, /** @type {any} */ options) => {
    const text = isObject(input) && hasOwn(input, secret) ? input[secret] : undefined;
    if (typeof text !== 'string') {
      if (tool.execute === undefined) throw domError('NotSupportedError', 'This tool is answered by the toolcall event.');
      return apply(tool.execute, tool.self, [input, options]);
    }
    const call = jsonParse(text);
    addEventListener(options.signal, 'abort', () => abortCall(call[0], 'The call was cancelled.'), { __proto__: null, once: true });
    const reply = startCall(call[0], call[1], call[2], call[3], call[4]);
    return own(promiseThen(reply, (/** @type {string} */ answer) => answerPrefix + answer));
  };
}

watchProblems();
if (typeof Browser === 'function') install();
else replaceManifest(new NativeMap(), refusal());

shim = freeze({
  __proto__: null, watch, call: startCall, wait: awaitCall, answer: answerCall, remind: remindCall, abort: abortCall, shutdown: abortAll,
  rejection: () => refused, fault, expect, submission, host,
});
