// @ts-check
// The entry of the bundle. The build wraps it in one function that returns `shim`; shim/doc.go says how it gets into a page.

import { abortAll, abortCall, startCall } from './calls.js';
import { ModelContextAgent } from './dialects/agent.js';
import { readManifest } from './dialects/manifest.js';
import { ModelContext, make, share, tag } from './dialects/modelcontext.js';
import { LegacyMethods } from './dialects/provide.js';
import { global } from './dom.js';
import { defineProperty, freeze, getOwnPropertyDescriptor, getter } from './natives.js';
import { targets, watch } from './registry.js';

share(LegacyMethods, ModelContext);
share(ModelContext, ModelContext);
share(ModelContext, ModelContextAgent);
tag(ModelContext);
tag(ModelContextAgent);
targets.context = make(ModelContext);
targets.agent = make(ModelContextAgent);

// Over a native object where there is one.
expose(Document.prototype, () => document, getter(Document.prototype, 'URL'));
expose(Navigator.prototype, () => navigator, getter(Navigator.prototype, 'userAgent'));
value('ModelContext', ModelContext, false);
value('agent', targets.agent, true);
readManifest();

shim = freeze({ __proto__: null, watch, call: startCall, abort: abortCall, shutdown: abortAll });

/**
 * expose defines the attribute modelContext. Document's has no setter, as in browsers that have it; Navigator's has one that
 * does nothing, because the scripts that bring their own object assign it, and in strict mode that would throw.
 * @param {object} prototype
 * @param {() => object} instance
 * @param {(self: any) => any} brand throws for what is not an instance
 */
function expose(prototype, instance, brand) {
  const accessors = {
    get modelContext() {
      brand(this);
      return /** @type {unknown} */ (this) === instance() ? targets.context : undefined;
    },
    set modelContext(_) {},
  };
  const { get, set } = /** @type {PropertyDescriptor} */ (getOwnPropertyDescriptor(accessors, 'modelContext'));
  defineProperty(prototype, 'modelContext', {
    __proto__: null, get, set: prototype === Document.prototype ? undefined : set, enumerable: true, configurable: true,
  });
}

/**
 * @param {string} name
 * @param {any} object
 * @param {boolean} enumerable
 */
function value(name, object, enumerable) {
  defineProperty(global, name, { __proto__: null, value: object, writable: true, enumerable, configurable: true });
}
