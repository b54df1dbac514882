// @ts-check
// window.agent of the first generation: the very functions of ModelContext (main.js shares them), and the first place where toolcall is dispatched.

import { NativeEventTarget } from '../natives.js';
import { typeError } from '../errors.js';

export class ModelContextAgent extends NativeEventTarget {
  constructor() {
    super();
    throw typeError('Illegal constructor');
  }
}
