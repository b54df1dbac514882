// @ts-check
// window.agent of the first generation: the same methods, and the first place where toolcall is dispatched.

import { defineProperty, getOwnPropertyDescriptor, NativeEventTarget } from '../natives.js';
import { typeError } from '../errors.js';
import { ModelContext } from './modelcontext.js';

export class ModelContextAgent extends NativeEventTarget {
  constructor() {
    super();
    throw typeError('Illegal constructor');
  }
}

const shared = { __proto__: null, registerTool: 0, unregisterTool: 0, provideContext: 0, clearContext: 0, ontoolchange: 0 };

/** shareMethods gives window.agent the very functions of ModelContext. */
export function shareMethods() {
  for (const name in shared) {
    const descriptor = getOwnPropertyDescriptor(ModelContext.prototype, name);
    defineProperty(ModelContextAgent.prototype, name, /** @type {PropertyDescriptor} */ (descriptor));
  }
}
