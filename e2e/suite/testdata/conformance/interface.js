// The shape of the interface: section 1.1.
'use strict';

const attributes = (object, key) => {
  const found = Object.getOwnPropertyDescriptor(object, key);
  if (found === undefined) return 'missing';
  const flags = `${found.writable ? 'w' : ''}${found.enumerable ? 'e' : ''}${found.configurable ? 'c' : ''}`;
  if ('value' in found) return typeof found.value === 'function' ? `${flags} ${found.value.name}/${found.value.length}` : flags;
  return `${flags} get ${found.get?.name}/${found.get?.length} set ${found.set?.name}/${found.set?.length}`;
};
const operation = (key) => () => attributes(ModelContext.prototype, key);

cases(
  ['document.modelContext is there', () => ['modelContext' in document, typeof document.modelContext], [true, 'object']],
  ['it is one object', () => document.modelContext === document.modelContext, true],
  ['it is a ModelContext', () => [mc() instanceof ModelContext, Object.getPrototypeOf(mc()) === ModelContext.prototype, mc().constructor === ModelContext], [true, true, true]],
  ['it is an EventTarget', () => [mc() instanceof EventTarget, Object.getPrototypeOf(ModelContext.prototype) === EventTarget.prototype, Object.getPrototypeOf(ModelContext) === EventTarget], [true, true, true]],
  ['its name for toString', () => [String(mc()), attributes(ModelContext.prototype, Symbol.toStringTag), ModelContext.prototype[Symbol.toStringTag]], ['[object ModelContext]', 'c', 'ModelContext']],
  ['it has no members of its own', () => Reflect.ownKeys(mc()).length, 0],
  ['the interface object', () => [attributes(window, 'ModelContext'), attributes(ModelContext, 'prototype'), 'ModelContext' in window], ['wc ModelContext/0', '', true]],
  ['the constructor of the prototype', () => [attributes(ModelContext.prototype, 'constructor')], ['wc ModelContext/0']],
  ['new ModelContext', () => text(() => new ModelContext()), "TypeError: Failed to construct 'ModelContext': Illegal constructor"],
  ['ModelContext as a function', () => name(() => ModelContext()), 'throws TypeError'],
  ['the attribute of Document', () => attributes(Document.prototype, 'modelContext'), 'ec get get modelContext/0 set set modelContext/1'],
  ['its getter on something else', () => ['Document.prototype', 'window', '{}'].map((of) => {
    const {get} = Object.getOwnPropertyDescriptor(Document.prototype, 'modelContext');
    try { return String(get.call(eval(`(${of})`))); } catch (thrown) { return `${thrown.name}: ${thrown.message}`; }
  }), ['TypeError: Illegal invocation', 'TypeError: Illegal invocation', 'TypeError: Illegal invocation']],
  ['the getter of one document on another', async () => {
    const element = await frame();
    const {get} = Object.getOwnPropertyDescriptor(Document.prototype, 'modelContext');
    return get.call(element.contentDocument) === element.contentDocument.modelContext;
  }, true],
  ['a document without a window', () => String(document.implementation.createHTMLDocument('x').modelContext), '[object ModelContext]'],
  ['assignment in strict code', () => name(() => { document.modelContext = 1; }), {fulfilled: null}],
  ['assignment in sloppy code', () => { Function('document.modelContext = 1')(); return mc() instanceof ModelContext; }, true],
  ['defineProperty on the document', () => { Object.defineProperty(document, 'modelContext', {value: 7, configurable: true}); const seen = document.modelContext; delete document.modelContext; return [seen, mc() instanceof ModelContext]; }, [7, true]],
  ['the members of the prototype', () => Object.getOwnPropertyNames(ModelContext.prototype).filter((key) => key !== 'constructor').sort(), ['clearContext', 'executeTool', 'getTools', 'ontoolactivated', 'ontoolcancel', 'ontoolchange', 'provideContext', 'registerTool', 'unregisterTool']],
  ['registerTool', operation('registerTool'), 'wec registerTool/1'],
  ['getTools', operation('getTools'), 'wec getTools/0'],
  ['executeTool', operation('executeTool'), 'wec executeTool/1'],
  ['ontoolchange', operation('ontoolchange'), 'ec get get ontoolchange/0 set set ontoolchange/1'],
  ['ontoolactivated', operation('ontoolactivated'), 'ec get get ontoolactivated/0 set set ontoolactivated/1'],
  ['ontoolcancel', operation('ontoolcancel'), 'ec get get ontoolcancel/0 set set ontoolcancel/1'],
  ['enumeration with for-in', () => { const keys = []; for (const key in mc()) keys.push(key); return keys.filter((key) => !(key in EventTarget.prototype)).sort(); }, ['clearContext', 'executeTool', 'getTools', 'ontoolactivated', 'ontoolcancel', 'ontoolchange', 'provideContext', 'registerTool', 'unregisterTool']],
  ['methods are no constructors', () => Promise.all(['registerTool', 'getTools', 'executeTool'].map((key) => name(() => new (mc()[key])()))), ['throws TypeError', 'throws TypeError', 'throws TypeError']],
  ['methods have no prototype', () => ['registerTool', 'getTools', 'executeTool'].map((key) => 'prototype' in mc()[key]), [false, false, false]],
  ['methods are written as native code', () => /\[native code\]/.test(Function.prototype.toString.call(mc().registerTool)), true],
  ['methods on another object', () => Promise.all(['registerTool', 'getTools', 'executeTool'].map((key) => text(() => mc()[key].call({}, sample())))), [
    "TypeError: Failed to execute 'registerTool' on 'ModelContext': Illegal invocation",
    "TypeError: Failed to execute 'getTools' on 'ModelContext': Illegal invocation",
    "TypeError: Failed to execute 'executeTool' on 'ModelContext': Illegal invocation"]],
  ['methods on another object reject', () => Promise.all(['registerTool', 'getTools', 'executeTool'].map((key) => name(() => mc()[key].call({}, sample())))), ['rejects TypeError', 'rejects TypeError', 'rejects TypeError']],
  ['methods return native promises', () => [mc().registerTool(sample()), mc().getTools(), mc().executeTool({}).catch(() => 0)].map((promise) => promise instanceof Promise), [true, true, true]],
  ['handler attributes are null', () => [mc().ontoolchange, mc().ontoolactivated, mc().ontoolcancel], [null, null, null]],
  ['handler attributes take functions and objects only', () => ['ontoolchange', 'ontoolactivated', 'ontoolcancel'].map((key) => {
    const handler = () => {}, object = {};
    mc()[key] = handler; const a = mc()[key] === handler;
    mc()[key] = object; const b = mc()[key] === object;
    mc()[key] = 'text'; const c = mc()[key];
    mc()[key] = handler; mc()[key] = undefined; const d = mc()[key];
    return [a, b, c, d];
  }), [[true, true, null, null], [true, true, null, null], [true, true, null, null]]],
  ['handler getters on another object', () => Promise.all(['ontoolchange', 'ontoolactivated', 'ontoolcancel'].map((key) => name(() => Object.getOwnPropertyDescriptor(ModelContext.prototype, key).get.call({})))), ['throws TypeError', 'throws TypeError', 'throws TypeError']],
  ['ToolActivatedEvent', () => {
    const plain = new ToolActivatedEvent('x'), given = new ToolActivatedEvent('y', {toolName: 5, bubbles: true});
    return [plain.toolName, plain.bubbles, plain.cancelable, plain.composed, given.type, given.toolName, given.bubbles, plain instanceof Event, String(plain), ToolActivatedEvent.length];
  }, ['', false, false, false, 'y', '5', true, true, '[object ToolActivatedEvent]', 1]],
  ['ToolCancelEvent', () => {
    const plain = new ToolCancelEvent('x'), given = new ToolCancelEvent('y', {toolName: 5, bubbles: true});
    return [plain.toolName, plain.bubbles, plain.cancelable, plain.composed, given.type, given.toolName, given.bubbles, plain instanceof Event, String(plain), ToolCancelEvent.length];
  }, ['', false, false, false, 'y', '5', true, true, '[object ToolCancelEvent]', 1]],
  ['the attribute toolName', () => [attributes(ToolActivatedEvent.prototype, 'toolName'), attributes(ToolCancelEvent.prototype, 'toolName')], ['ec get get toolName/0 set undefined/undefined', 'ec get get toolName/0 set undefined/undefined']],
  ['event constructors without a type', () => Promise.all([text(() => new ToolActivatedEvent()), text(() => new ToolCancelEvent())]), [
    "TypeError: Failed to construct 'ToolActivatedEvent': 1 argument required, but only 0 present.",
    "TypeError: Failed to construct 'ToolCancelEvent': 1 argument required, but only 0 present."]],
  ['event constructors as functions', () => Promise.all([name(() => ToolActivatedEvent('x')), name(() => ToolCancelEvent('x'))]), ['throws TypeError', 'throws TypeError']],
  ['event interface objects', () => [attributes(window, 'ToolActivatedEvent'), attributes(window, 'ToolCancelEvent'), Object.getPrototypeOf(ToolActivatedEvent) === Event, Object.getPrototypeOf(ToolCancelEvent) === Event], ['wc ToolActivatedEvent/1', 'wc ToolCancelEvent/1', true, true]],
  ['events take a null dictionary and refuse a number', () => Promise.all([text(() => new ToolCancelEvent('x', null).toolName), name(() => new ToolCancelEvent('x', 3))]), [{fulfilled: ''}, 'throws TypeError']],
  ['SubmitEvent.agentInvoked', () => [attributes(SubmitEvent.prototype, 'agentInvoked'), new SubmitEvent('submit').agentInvoked], ['ec get get agentInvoked/0 set undefined/undefined', false]],
  ['SubmitEvent.respondWith', () => attributes(SubmitEvent.prototype, 'respondWith'), 'wec respondWith/1'],
  ['forms have no reflecting attributes', () => ['toolName', 'toolname', 'toolDescription', 'toolAutoSubmit', 'toolParamDescription'].filter((key) => key in document.createElement('form') || key in document.createElement('input')), []],
  ['navigator.modelContext', () => ['modelContext' in navigator, navigator.modelContext === document.modelContext], [true, true]],
  ['window.agent', () => typeof window.agent, 'object'],
  ['the older methods', () => ['provideContext', 'clearContext', 'unregisterTool'].map((key) => typeof mc()[key]), ['function', 'function', 'function']],
);
