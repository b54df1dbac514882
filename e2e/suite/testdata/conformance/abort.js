// Signals of registerTool and of executeTool. Sections 1.2 and 1.3.
'use strict';

/** hanging registers a tool that never answers, calls it, and waits until it runs. */
const hanging = async (options = {}) => {
  const at = {controller: new AbortController(), signal: null, seen: []};
  let started;
  const running = new Promise((resolve) => { started = resolve; });
  await register({execute: (input, {signal}) => {
    at.signal = signal;
    signal.addEventListener('abort', () => at.seen.push('signal'));
    started();
    return options.answer?.(signal) ?? new Promise(() => {});
  }});
  at.tool = await find('t');
  at.done = mc().executeTool(at.tool, {}, {signal: at.controller.signal});
  at.done.catch(() => 0);
  await running;
  await settle();
  return at;
};

cases(
  ['aborting unregisters', async () => { const controller = new AbortController(); await register({}, {signal: controller.signal}); const before = await listed(); controller.abort(); return [before, await listed()]; }, [['t'], []]],
  ['the name is free at once', async () => { const controller = new AbortController(); await register({}, {signal: controller.signal}); controller.abort(); return name(() => register()); }, {fulfilled: null}],
  ['aborting before it is resolved rejects', async () => { const controller = new AbortController(); const done = register({}, {signal: controller.signal}); controller.abort(new RangeError('why')); return [await text(() => done), await listed()]; }, ['RangeError: why', []]],
  ['aborting after it was resolved changes nothing about that', async () => { const controller = new AbortController(); const done = register({}, {signal: controller.signal}); await done; controller.abort(); return name(() => done); }, {fulfilled: null}],
  ['one signal for many tools', async () => { const controller = new AbortController(); await Promise.all(['a', 'b', 'c'].map((toolName) => register({name: toolName}, {signal: controller.signal}))); await register({name: 'd'}); controller.abort(); return listed(); }, ['d']],
  ['an old signal does not remove a new tool', async () => { const one = new AbortController(); await register({}, {signal: one.signal}); one.abort(); await register(); one.abort(); return listed(); }, ['t']],
  ['AbortSignal.timeout', async () => { const gone = wait(mc(), 'toolchange'); const done = name(() => register({}, {signal: AbortSignal.timeout(50)})); await gone; await done; await new Promise((resolve) => setTimeout(resolve, 150)); return listed(); }, []],
  ['a tool that was refused leaves the signal alone', async () => { const controller = new AbortController(); await register(); await name(() => register({}, {signal: controller.signal})); controller.abort(); return listed(); }, ['t']],

  ['an aborted signal runs nothing', async () => { let ran = false; await register({execute: () => { ran = true; return ''; }}); const outcome = await text(async () => mc().executeTool(await find('t'), {}, {signal: AbortSignal.abort(new RangeError('why'))})); await settle(); return [outcome, ran]; }, ['RangeError: why', false]],
  ['bad input comes before an aborted signal', async () => { await register(); return name(async () => mc().executeTool(await find('t'), 1, {signal: AbortSignal.abort(new RangeError('why'))})); }, 'rejects TypeError'],
  ['aborting rejects with the reason', async () => { const at = await hanging(); at.controller.abort(new RangeError('why')); return text(() => at.done); }, 'RangeError: why'],
  ['aborting without a reason', async () => { const at = await hanging(); at.controller.abort(); return text(() => at.done); }, 'DOMException AbortError: signal is aborted without reason'],
  ['the tool hears of it', async () => { const at = await hanging(); const heard = wait(at.signal, 'abort'); at.controller.abort(new RangeError('why')); await name(() => at.done); await heard; return [at.seen, at.signal.aborted, kind(at.signal.reason)]; }, [['signal'], true, 'DOMException AbortError']],
  ['the promise is rejected before the tool hears', async () => { const at = await hanging(); const seen = at.seen; at.done.catch(() => seen.push('rejected')); const heard = wait(at.signal, 'abort'); at.controller.abort(); await heard; return seen; }, ['rejected', 'signal']],
  ['a result after the abort is dropped', async () => { const at = await hanging({answer: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))}); at.controller.abort(new RangeError('why')); return text(() => at.done); }, 'RangeError: why'],
  ['the tool aborts the signal of its caller', async () => { const controller = new AbortController(); const seen = []; await register({execute: (input, {signal}) => { signal.addEventListener('abort', () => seen.push('signal')); controller.abort(new RangeError('why')); return new Promise(() => {}); }}); const outcome = await text(async () => mc().executeTool(await find('t'), {}, {signal: controller.signal})); await settle(); return [outcome, seen]; }, ['RangeError: why', ['signal']]],
  ['aborting after the result changes nothing', async () => { const controller = new AbortController(); await register(); const done = mc().executeTool(await find('t'), {}, {signal: controller.signal}); await done; controller.abort(); return name(() => done); }, {fulfilled: 'done'}],
  ['the signal of a call that ended is not aborted', async () => { let kept; await register({execute: (input, {signal}) => { kept = signal; return ''; }}); const controller = new AbortController(); await mc().executeTool(await find('t'), {}, {signal: controller.signal}); controller.abort(); await settle(); return kept.aborted; }, false],
  ['each call has a signal of its own', async () => { const signals = new Set(); await register({execute: (input, {signal}) => { signals.add(signal); return ''; }}); await call('t'); await call('t'); return signals.size; }, 2],
  ['aborting one call leaves the other', async () => {
    const finish = [];
    await register({execute: () => new Promise((resolve) => finish.push(resolve))});
    const controller = new AbortController(), tool = await find('t');
    const one = name(() => mc().executeTool(tool, {}, {signal: controller.signal})), two = name(() => mc().executeTool(tool));
    await settle();
    controller.abort();
    const first = await one;
    finish.forEach((resolve) => resolve('end'));
    return [first, await two];
  }, ['rejects DOMException AbortError', {fulfilled: 'end'}]],

  ['unregistering does not cancel a call', async () => {
    const controller = new AbortController();
    let finish;
    const running = new Promise((resolve) => { register({execute: (input, {signal}) => new Promise((end) => { finish = () => end(String(signal.aborted)); resolve(); })}, {signal: controller.signal}); });
    const done = call('t');
    await running;
    controller.abort();
    await settle();
    finish();
    return [await text(() => done), await listed()];
  }, [{fulfilled: 'false'}, []]],
  ['unregistering itself does not cancel a call', async () => { const controller = new AbortController(); await register({execute: async () => { controller.abort(); await settle(); return 'end'; }}, {signal: controller.signal}); return text(() => call('t')); }, {fulfilled: 'end'}],
  ['registering again inside of a call', async () => { const controller = new AbortController(); await register({execute: async () => { controller.abort(); await register({execute: () => 'new'}); return 'old'; }}, {signal: controller.signal}); return [await call('t'), await call('t')]; }, ['old', 'new']],
  ['the call runs what was registered when it began', async () => { const controller = new AbortController(); await register({execute: () => 'old'}, {signal: controller.signal}); const tool = await find('t'); const done = mc().executeTool(tool); controller.abort(); register({execute: () => 'new'}); return text(() => done); }, {fulfilled: 'old'}],
);
