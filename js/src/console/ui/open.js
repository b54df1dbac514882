// @ts-check
// Which of the dialogs that belong to no screen are open.

import { signal } from '@preact/signals';

export const helpOpen = signal(false);
export const paletteOpen = signal(false);
