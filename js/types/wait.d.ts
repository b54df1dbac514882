/** What the bundle of src/wait evaluates to: a promise of '' when an element matches the selector; rejected when it is none. */
declare let wait: (selector: string) => Promise<string>;
