// @ts-check
// navigator.modelContextTesting of Chrome 146 to 151: the tools of this document by name, with JSON strings both ways.

import { convertOptions, throwIfAborted, toText } from '../declaration.js';
import { typeError } from '../errors.js';
import { NativePromise, addEventListener, append, apply } from '../natives.js';
import { me } from '../peer.js';
import { targets } from './events.js';
import { answer, checkCall } from './modelcontext.js';
import { inputText, notArguments, runTool, unknown } from './query.js';

const testing = 'ModelContextTesting';
/** What listens to changes; a new one takes its place. @type {Function | null} */
let listener = null;

export class ModelContextTesting {
  constructor() {
    throw typeError(`Failed to construct '${testing}': Illegal constructor`);
  }

  listTools() {
    checkCall(this, 'listTools', 0, 0, testing);
    /** @type {any[]} */
    const list = [];
    me.each(({ name, description, inputSchema }) => {
      append(list, inputSchema ? { description, inputSchema, name } : { description, name });
    });
    return list;
  }

  /**
   * @param {any} toolName
   * @param {any} inputArguments
   */
  executeTool(toolName, inputArguments, options = undefined) {
    return answer(this, 'executeTool', arguments.length, 2, (prefix) => {
      const name = toText(toolName, prefix);
      const json = toText(inputArguments, prefix);
      const { signal } = convertOptions(options, prefix, 'ExecuteToolOptions', '');
      throwIfAborted(signal);
      const tool = me.find(name);
      if (tool === null) throw unknown(`Tool not found: ${name}`);
      try {
        inputText(json, '');
      } catch {
        throw unknown(notArguments);
      }
      return runTool(me, tool, json, signal);
    }, testing);
  }

  /** @param {any} callback */
  registerToolsChangedCallback(callback) {
    const prefix = checkCall(this, 'registerToolsChangedCallback', arguments.length, 1, testing);
    if (typeof callback !== 'function') throw typeError(`${prefix}parameter 1 is not of type 'Function'.`);
    if (listener === null) {
      addEventListener(targets.context, 'toolchange', () => apply(/** @type {Function} */ (listener), undefined, []));
    }
    listener = callback;
  }

  /** The results of forms that navigated; there are none here: pagetools returns them to the caller. */
  getCrossDocumentScriptToolResult() {
    return answer(this, 'getCrossDocumentScriptToolResult', 0, 0, () => new NativePromise((resolve) => resolve('[]')), testing);
  }
}
