/** What src/look evaluates to. */
declare let look: (selector: string, selected?: boolean) => string;
