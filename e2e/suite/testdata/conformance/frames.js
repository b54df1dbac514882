// Documents and frames: who sees whose tools, who may have any, and what leaves with a document. Section 1.5.
'use strict';

const denied = 'DOMException NotAllowedError: Access to the feature "tools" is disallowed by permissions policy.';
const inner = `text(() => register({name: 'inner', execute: (input) => 'from ' + location.origin}))`;
const exposing = (origin) => `register({name: 'inner', execute: () => 'inner'}, {exposedTo: ['${origin}']}).then(() => 'registered')`;
const all = async (options) => (await tools(options)).map((tool) => [tool.name, tool.window === window ? 'here' : 'there']);
/** shown waits for the tool of another origin, and returns false when it does not come. */
const shown = (from) => Promise.race([found('inner', {fromOrigins: [from]}), pause(3000).then(() => false)]);
/** there waits until a tool is known here. The word of it may come later than everything else; a case that waits in vain says what it sees. */
const there = (toolName) => Promise.race([found(toolName), pause(10000)]);
const changes = () => { const seen = []; mc().addEventListener('toolchange', () => seen.push('change')); return seen; };
/** listening has a tool that never answers. It tells when it runs, and when it hears of an abort. */
const listening = () => {
  const at = {};
  at.heard = new Promise((resolve) => {
    at.began = new Promise((runs) => register({execute: (input, {signal}) => { signal.addEventListener('abort', () => resolve('aborted')); runs(); return new Promise(() => {}); }}));
  });
  return at;
};
const calling = `found('t').then((tool) => { mc().executeTool(tool).catch(() => 0); return 'called'; })`;

cases(
  ['a frame has an object of its own', async () => { const element = await frame(page()); return [element.contentDocument.modelContext === mc(), element.contentDocument.modelContext instanceof element.contentWindow.ModelContext, element.contentWindow.ModelContext === ModelContext]; }, [false, true, false]],
  ['the empty document of a frame', async () => { const element = document.createElement('iframe'); document.body.append(element); return name(() => element.contentDocument.modelContext.registerTool(sample())); }, {fulfilled: null}],
  ['a same-origin frame', async () => { const {said} = await framed(inner); await there('inner'); return [said, await all()]; }, [{fulfilled: null}, [['inner', 'there']]]],
  ['a frame of a frame', async () => { await framed(`framed(${JSON.stringify(inner)}).then(() => 'done')`); await there('inner'); return all(); }, [['inner', 'there']]],
  ['a frame sees its parent', async () => { await register(); const {said} = await framed(`listed()`); return said; }, ['t']],
  ['a frame sees its sibling', async () => { await framed(inner); const {said} = await framed(`Promise.race([found('inner'), pause(10000)]).then(() => listed())`); return said; }, ['inner']],
  ['srcdoc', async () => { const element = await frame(undefined, {srcdoc: registering('{name: "s", description: "d", execute() {}}')}); await there('s'); return [element.contentWindow.origin === origin, await all()]; }, [true, [['s', 'there']]]],
  ['about:blank', async () => { const element = await frame('about:blank'); await element.contentDocument.modelContext.registerTool(sample({name: 'b'})); await there('b'); return all(); }, [['b', 'there']]],
  ['a blob document', async () => { const url = URL.createObjectURL(new Blob([registering('{name: "b", description: "d", execute() {}}')], {type: 'text/html'})); await frame(url); await there('b'); return all(); }, [['b', 'there']]],
  ['a data document', async () => { const said = new Promise((resolve) => addEventListener('message', (event) => resolve(event.data))); frame('data:text/html,<script>parent.postMessage(typeof document.modelContext, "*")</script>'); return said; }, 'undefined'],
  ['one name in two documents', async () => { await register({name: 'inner'}); const {said} = await framed(inner); await settle(); return [said, (await all()).sort()]; }, [{fulfilled: null}, [['inner', 'here'], ['inner', 'there']]]],
  ['a tool of a frame runs in the frame', async () => { await framed(`register({name: 'inner', execute() { return String(globalThis === window && parent !== window); }}).then(() => 0)`); return call('inner'); }, 'true'],
  ['a tool of a frame: window and origin', async () => { const {window: view} = await framed(inner); await there('inner'); const tool = await find('inner'); return [tool.window === view, tool.origin === origin]; }, [true, true]],
  ['the input of a tool in a frame is of its realm', async () => { await framed(`register({name: 'inner', execute: (input) => String(input instanceof Object && input.a instanceof Array)}).then(() => 0)`); return call('inner', {a: []}); }, 'true'],
  ['input for a tool of a frame is of the wrong window', async () => { await framed(inner); await there('inner'); await register(); return name(async () => mc().executeTool({...await find('inner'), window})); }, 'rejects DOMException UnknownError'],
  ['toolchange at the parent', async () => { const seen = changes(); await framed(inner); await settle(); return seen.length > 0; }, true],
  ['toolchange at a frame', async () => { const {window: view} = await framed(`0`); let came = 0; view.document.modelContext.addEventListener('toolchange', () => came++); await register(); await settle(); return came > 0; }, true],
  ['toolactivated is at the frame only', async () => { const {window: view} = await framed(inner); const seen = []; mc().addEventListener('toolactivated', () => seen.push('here')); view.document.modelContext.addEventListener('toolactivated', () => seen.push('there')); await call('inner'); await settle(); return seen; }, ['there']],
  ['a frame that is removed takes its tools along', async () => { const {element} = await framed(inner); await there('inner'); const before = await listed(); element.remove(); await settle(); return [before, await listed()]; }, [['inner'], []]],
  ['a frame that navigates takes its tools along', async () => { const {element} = await framed(inner); const loaded = wait(element, 'load'); element.src = page(); await loaded; await settle(); return listed(); }, []],
  ['a frame that is removed during a call', async () => { const began = new Promise((r) => { window.began = r; }); const {element} = await framed(`register({name: 'inner', execute: () => { parent.began(); return new Promise(() => {}); }}).then(() => 0)`); const done = name(() => call('inner')); await began; element.remove(); return done; }, 'rejects DOMException UnknownError'],
  ['a frame that navigates during a call', async () => { const began = new Promise((r) => { window.began = r; }); const {element} = await framed(`register({name: 'inner', execute: () => { parent.began(); return new Promise(() => {}); }}).then(() => 0)`); const done = name(() => call('inner')); await began; element.src = page(); return done; }, 'rejects DOMException UnknownError'],
  ['a caller that is removed', async () => { const {began, heard} = listening(); const {element} = await framed(calling); await began; element.remove(); return Promise.race([heard, pause(3000)]); }, 'aborted'],
  ['a caller that navigates', async () => { const {began, heard} = listening(); const {element} = await framed(calling); await began; element.src = page(); return Promise.race([heard, pause(3000)]); }, 'aborted'],
  ['document.open keeps the object', async () => { const element = await frame(page()); const before = element.contentDocument.modelContext; element.contentDocument.open(); element.contentDocument.close(); return element.contentDocument.modelContext === before; }, true],

  ['another origin of the same site, without allow', async () => { const {said} = await framed(inner, {origin: otherPort}); return [said, await listed()]; }, [denied, []]],
  ['another site, without allow', async () => { const {said} = await framed(inner, {origin: otherSite}); return [said, await listed()]; }, [denied, []]],
  ['another origin, allowed', async () => { const {said} = await framed(inner, {origin: otherPort}, {allow: 'tools'}); return said; }, {fulfilled: null}],
  ['another site, allowed', async () => { const {said} = await framed(inner, {origin: otherSite}, {allow: 'tools'}); return said; }, {fulfilled: null}],
  ['another origin does not show its tools', async () => { await framed(inner, {origin: otherPort}, {allow: 'tools'}); await settle(); return [await listed(), await listed({fromOrigins: [otherPort]})]; }, [[], []]],
  ['another origin shows tools to whom it names', async () => { await framed(exposing(here), {origin: otherPort}, {allow: 'tools'}); await settle(); return [await listed(), await listed({fromOrigins: [otherPort]})]; }, [[], ['inner']]],
  ['another site shows tools to whom it names', async () => { await framed(exposing(here), {origin: otherSite}, {allow: 'tools'}); await settle(); return [await listed(), await listed({fromOrigins: [otherSite]})]; }, [[], ['inner']]],
  ['another origin that names somebody else', async () => { await framed(exposing('https://a.test'), {origin: otherPort}, {allow: 'tools'}); await settle(); return listed({fromOrigins: [otherPort]}); }, []],
  ['a tool of another origin can be called', async () => { await framed(exposing(here), {origin: otherPort}, {allow: 'tools'}); const tool = await shown(otherPort); return tool && text(() => mc().executeTool(tool)); }, {fulfilled: 'inner'}],
  ['a tool of another site can be called', async () => { await framed(exposing(here), {origin: otherSite}, {allow: 'tools'}); const tool = await shown(otherSite); return tool && text(() => mc().executeTool(tool)); }, {fulfilled: 'inner'}],
  ['a tool that is not shown cannot be called', async () => { const {window: view} = await framed(inner, {origin: otherPort}, {allow: 'tools'}); await settle(); return name(() => mc().executeTool({name: 'inner', description: 'd', window: view, origin: otherPort})); }, 'rejects DOMException UnknownError'],
  ['a frame of another origin does not see its parent', async () => { await register(); const {said} = await framed(`Promise.all([listed(), listed({fromOrigins: ['${here}']})])`, {origin: otherPort}, {allow: 'tools'}); return said; }, [[], []]],
  ['a frame of another origin sees what is shown to it', async () => { await register({}, {exposedTo: [otherPort]}); const {said} = await framed(`listed({fromOrigins: ['${here}']})`, {origin: otherPort}, {allow: 'tools'}); return said; }, ['t']],
  ['toolchange for a tool that is shown', async () => { const seen = changes(); await framed(exposing(here), {origin: otherPort}, {allow: 'tools'}); await settle(); return seen.length > 0; }, true],
  ['no toolchange for a tool that is not shown', async () => { const seen = changes(); await framed(inner, {origin: otherPort}, {allow: 'tools'}); await settle(); return seen.length; }, 0],
  ['allow for one origin', async () => { const {said} = await framed(inner, {origin: otherPort}, {allow: `tools ${otherPort}`}); return said; }, {fulfilled: null}],
  ['allow for somebody else', async () => { const {said} = await framed(inner, {origin: otherPort}, {allow: 'tools https://a.test'}); return said; }, denied],
  ['allow none, same origin', async () => { const {said} = await framed(inner, {}, {allow: "tools 'none'"}); return said; }, denied],
  ['the frame denies itself', async () => { const {said} = await framed(inner, {headers: ['Permissions-Policy: tools=()']}); return said; }, denied],
  ['the frame that is allowed denies itself', async () => { const {said} = await framed(inner, {origin: otherPort, headers: ['Permissions-Policy: tools=()']}, {allow: 'tools'}); return said; }, denied],
  ['a sandbox without an origin', async () => { const {said} = await framed(inner, {}, {sandbox: 'allow-scripts'}); return said; }, denied],
  ['a sandbox without an origin, allowed', async () => { const {said} = await framed(inner, {}, {sandbox: 'allow-scripts', allow: 'tools'}); return said; }, {fulfilled: null}],
  ['a sandbox with its origin', async () => { const {said} = await framed(inner, {}, {sandbox: 'allow-scripts allow-same-origin'}); await there('inner'); return [said, await listed()]; }, [{fulfilled: null}, ['inner']]],
  ['a denied parent has no frames with tools', async () => { const {said} = await framed(inner); return said; }, denied, {headers: ['Permissions-Policy: tools=()']}],
  ['a parent that allows everybody', async () => { const {said} = await framed(inner, {origin: otherPort}); return said; }, denied, {headers: ['Permissions-Policy: tools=*']}],
  ['the feature is known', () => [document.featurePolicy.features().includes('tools'), document.featurePolicy.allowsFeature('tools')], [true, true]],
);
