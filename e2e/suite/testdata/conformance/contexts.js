// Secure contexts and what is no window. Section 1.5.
'use strict';

const there = () => [isSecureContext, 'modelContext' in document, typeof window.ModelContext, typeof window.ToolActivatedEvent, typeof window.ToolCancelEvent];
const all = [true, true, 'function', 'function', 'function'];

cases(
  ['127.0.0.1', there, all],
  ['localhost', there, all, {host: 'localhost'}],
  ['a name under localhost', there, all, {host: 'x.localhost'}],
  ['plain http', there, [false, true, 'function', 'function', 'function'], {host: 'plain.test'}],
  ['plain http can register and call', async () => { await register(); return call('t'); }, 'done', {host: 'plain.test'}],
  ['a worker', async () => {
    const worker = new Worker(URL.createObjectURL(new Blob(['postMessage([typeof ModelContext, typeof ToolActivatedEvent, "modelContext" in navigator])'])));
    const {data} = await wait(worker, 'message');
    worker.terminate();
    return data;
  }, ['undefined', 'undefined', false]],
);
