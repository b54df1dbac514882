// @ts-check
// The entry of the bundle. The build wraps it in one function of the tab's secret that returns `shim`; shim/doc.go says how it
// gets into a page.

import { abortAll, abortCall, startCall } from './calls.js';
import { ModelContextAgent } from './dialects/agent.js';
import { ToolActivatedEvent, ToolCancelEvent, defineHandlers, targets } from './dialects/events.js';
import { expose, watchDefinitions } from './dialects/foreign.js';
import { readManifest } from './dialects/manifest.js';
import { ModelContext, checkThis, claim, inactiveContext, share } from './dialects/modelcontext.js';
import { LegacyMethods } from './dialects/provide.js';
import { ModelContextTesting } from './dialects/testing.js';
import { global, windowOrigin } from './dom.js';
import { outcomeOf, owned } from './epochs.js';
import { attend, watchSubmits } from './formrun.js';
import { watchForms } from './forms.js';
import { join } from './frames.js';
import { NativeEventTarget, construct, defineProperty, freeze, members } from './natives.js';
import { me } from './peer.js';
import { failed, fault, problem, watchProblems } from './problems.js';
import { find, registrar, wait, watch } from './registry.js';
import { answerCall, awaitCall, remindCall } from './replies.js';
import { saves } from './saves.js';

defineHandlers(ModelContext.prototype, checkThis);
defineHandlers(global, (self) => {
  windowOrigin(self ?? global);
  return global;
});
share(LegacyMethods, ModelContext);
share(ModelContext, ModelContextAgent);
targets.context = claim(construct(NativeEventTarget, [], ModelContext));
targets.agent = claim(construct(NativeEventTarget, [], ModelContextAgent));
const helper = claim(construct(Object, [], ModelContextTesting), 'ModelContextTesting');

// Over a native object where there is one.
const [brandDocument] = members('Document', 'URL');
const [brandNavigator] = members('Navigator', 'userAgent');
expose(Document.prototype, 'modelContext', () => document, targets.context, brandDocument, inactiveContext);
expose(Navigator.prototype, 'modelContext', () => navigator, targets.context, brandNavigator);
expose(Navigator.prototype, 'modelContextTesting', () => navigator, helper, brandNavigator);
for (const shown of [ModelContext, ModelContextTesting, ToolActivatedEvent, ToolCancelEvent]) {
  share(shown);
  defineProperty(global, shown.name, { value: shown, writable: true, configurable: true });
}
defineProperty(global, 'agent', { value: targets.agent, writable: true, enumerable: true, configurable: true });
watchDefinitions();
watchProblems();
join(me);
watchSubmits();
watchForms();
readManifest();

shim = freeze({
  __proto__: null, watch, call: startCall, wait: awaitCall, answer: answerCall, remind: remindCall, abort: abortCall, shutdown: abortAll, attend, fault,
  own: (/** @type {number} */ epoch) => owned(epoch, shim), outcome: outcomeOf,
  host: { __proto__: null, registrar, wait, find, failed, problem, context: () => targets.context, adapt: null, saves },
});
