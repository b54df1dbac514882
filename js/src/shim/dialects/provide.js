// @ts-check
// The generations before registerTool returned a promise: provideContext, clearContext, unregisterTool. They are synchronous
// and throw what registerTool rejects with.

import { admit, convertTool, eachOf, toText } from '../declaration.js';
import { isObject } from '../encode.js';
import { typeError } from '../errors.js';
import { NativeMap, mapForEach, mapHas, mapSet } from '../natives.js';
import { refusing } from '../problems.js';
import { remove, replaceScript } from '../registry.js';
import { checkCall } from './modelcontext.js';

export class LegacyMethods {
  /** Replaces all script tools, or none when one of the new ones is at fault. */
  provideContext(context = /** @type {any} */ (undefined)) {
    const prefix = checkCall(this, 'provideContext', 0, 0);
    if (context !== undefined && context !== null && !isObject(context)) {
      throw typeError(`${prefix}The provided value is not of type 'ModelContextOptions'.`);
    }
    const list = context?.tools;
    const tools = new NativeMap();
    if (list !== undefined) {
      const where = `${prefix}Failed to read the 'tools' property from 'ModelContextOptions': `;
      const drafts = new NativeMap();
      let count = 0;
      eachOf(list, where, (entry) => mapSet(drafts, count++, refusing(entry, () => convertTool(entry, prefix, 'provideContext'))));
      admitAll(drafts, tools);
    }
    replaceScript(tools);
  }

  clearContext() {
    checkCall(this, 'clearContext', 0, 0);
    replaceScript(new NativeMap());
  }

  /**
   * Unregisters by name, or by the object that was registered. A name that is not registered is not an error.
   * @param {any} tool
   */
  unregisterTool(tool) {
    const prefix = checkCall(this, 'unregisterTool', arguments.length, 1);
    remove(toText(isObject(tool) ? tool.name : tool, prefix));
  }
}

/**
 * @param {Map<number, Draft>} drafts
 * @param {Map<string, Tool>} tools where the admitted ones go
 */
function admitAll(drafts, tools) {
  mapForEach(drafts, (/** @type {Draft} */ draft) => {
    mapSet(tools, draft.name, refusing(draft, () => admit(draft, (name) => mapHas(tools, name))));
  });
}
