// toolchange, toolactivated and toolcancel. Section 1.4.
'use strict';

const shape = (event) => [event.type, event.constructor.name, event.bubbles, event.cancelable, event.composed, event.target === mc(), event.currentTarget === mc(), event.toolName ?? 'none'];
const recorded = (types, target = mc()) => { const seen = []; for (const type of types) target.addEventListener(type, (event) => seen.push(`${event.type} ${event.toolName ?? ''}`.trim())); return seen; };

cases(
  ['toolchange', async () => { const came = new Promise((resolve) => mc().addEventListener('toolchange', (event) => resolve(shape(event)))); register(); return came; }, ['toolchange', 'Event', false, false, false, true, true, 'none']],
  ['toolchange is not synchronous', async () => { let came = false; mc().addEventListener('toolchange', () => { came = true; }); const done = register(); const before = came; await done; return [before, came]; }, [false, true]],
  ['an event that is kept keeps its target', async () => { const came = wait(mc(), 'toolchange'); await register(); const event = await came; await settle(); return [event.target === mc(), event.currentTarget, event.eventPhase]; }, [true, null, 0]],
  ['toolchange for a removal', async () => { const controller = new AbortController(); await register({}, {signal: controller.signal}); await settle(); const came = wait(mc(), 'toolchange'); controller.abort(); return (await came).type; }, 'toolchange'],
  ['the tool is gone when its toolchange comes', async () => { const controller = new AbortController(); await register({}, {signal: controller.signal}); await settle(); const seen = new Promise((resolve) => mc().addEventListener('toolchange', () => resolve(listed()))); controller.abort(); return seen; }, []],
  ['no toolchange for a tool that was refused', async () => { const seen = recorded(['toolchange']); await name(() => register({name: ''})); await settle(); return seen; }, []],
  ['no toolchange when nobody registers', async () => { const seen = recorded(['toolchange']); await settle(); return seen; }, []],
  ['toolchange on window, where browsers had it', async () => { const seen = recorded(['toolchange'], window); await register(); await settle(); return seen; }, ['toolchange']],
  ['ontoolchange', async () => { const came = new Promise((resolve) => { mc().ontoolchange = function(event) { resolve([this === mc(), event.type]); }; }); register(); return came; }, [true, 'toolchange']],
  ['ontoolchange that is replaced', async () => { const seen = []; mc().ontoolchange = () => seen.push('one'); mc().ontoolchange = () => seen.push('two'); await register(); return [...new Set(seen)]; }, ['two']],
  ['ontoolchange that is taken away', async () => { const seen = []; mc().ontoolchange = () => seen.push('one'); mc().ontoolchange = null; await register(); return seen; }, []],
  ['ontoolchange keeps its place among listeners', async () => { const seen = new Set(); mc().addEventListener('toolchange', () => seen.add('a')); mc().ontoolchange = () => seen.add('on'); mc().addEventListener('toolchange', () => seen.add('b')); mc().ontoolchange = () => seen.add('on2'); await register(); return [...seen]; }, ['a', 'on2', 'b']],
  ['ontoolchange with handleEvent is not called', async () => { const seen = []; mc().ontoolchange = {handleEvent: () => seen.push('called')}; await register(); return seen; }, []],
  ['a listener that throws does not stop the registration', async () => { addEventListener('error', (event) => event.preventDefault()); mc().addEventListener('toolchange', () => { throw new Error('listener'); }); return name(() => register()); }, {fulfilled: null}],
  ['events of ours can be dispatched', () => { const seen = recorded(['toolchange', 'own']); mc().dispatchEvent(new Event('toolchange')); mc().dispatchEvent(new Event('own')); return seen; }, ['toolchange', 'own']],

  ['toolactivated', async () => { await register(); const came = new Promise((resolve) => mc().addEventListener('toolactivated', (event) => resolve(shape(event)))); call('t'); return came; }, ['toolactivated', 'ToolActivatedEvent', false, false, false, true, true, 't']],
  ['toolactivated comes once', async () => { await register(); const seen = recorded(['toolactivated', 'toolcancel']); await call('t'); await settle(); return seen; }, ['toolactivated t']],
  ['toolactivated comes after execute began', async () => { const seen = []; mc().addEventListener('toolactivated', () => seen.push('event')); await register({execute: async () => { seen.push('execute'); await settle(); return ''; }}); await call('t'); return seen; }, ['execute', 'event']],
  ['toolactivated comes before the result', async () => { const seen = []; mc().addEventListener('toolactivated', () => seen.push('event')); await register(); await call('t').then(() => seen.push('result')); return seen; }, ['event', 'result']],
  ['toolactivated for a tool that throws', async () => { const seen = recorded(['toolactivated', 'toolcancel']); await register({execute() { throw new Error('x'); }}); await name(() => call('t')); await settle(); return seen; }, ['toolactivated t']],
  ['no toolactivated for a tool that is not there', async () => { const seen = recorded(['toolactivated', 'toolcancel']); await register(); const tool = await find('t'); await name(() => mc().executeTool({...tool, name: 'u'})); await settle(); return seen; }, []],
  ['toolactivated on window', async () => { const seen = recorded(['toolactivated'], window); await register(); await call('t'); await settle(); return seen; }, ['toolactivated t']],
  ['ontoolactivated', async () => { await register(); const came = new Promise((resolve) => { mc().ontoolactivated = (event) => resolve(event.toolName); }); call('t'); return came; }, 't'],

  ['toolcancel', async () => {
    await register({execute: () => new Promise(() => {})});
    const controller = new AbortController();
    const active = wait(mc(), 'toolactivated');
    const done = name(async () => mc().executeTool(await find('t'), {}, {signal: controller.signal}));
    await active;
    const came = new Promise((resolve) => mc().addEventListener('toolcancel', (event) => resolve(shape(event))));
    controller.abort();
    await done;
    return came;
  }, ['toolcancel', 'ToolCancelEvent', false, false, false, true, true, 't']],
  ['ontoolcancel', async () => {
    await register({execute: () => new Promise(() => {})});
    const controller = new AbortController();
    const active = wait(mc(), 'toolactivated');
    name(async () => mc().executeTool(await find('t'), {}, {signal: controller.signal}));
    await active;
    const came = new Promise((resolve) => { mc().ontoolcancel = (event) => resolve(event.toolName); });
    controller.abort();
    return came;
  }, 't'],
  ['toolcancel on window', async () => {
    await register({execute: () => new Promise(() => {})});
    const seen = recorded(['toolcancel'], window);
    const controller = new AbortController();
    const active = wait(mc(), 'toolactivated');
    const done = name(async () => mc().executeTool(await find('t'), {}, {signal: controller.signal}));
    await active;
    controller.abort();
    await done;
    await settle();
    return seen;
  }, ['toolcancel t']],
);
