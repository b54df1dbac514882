/** What the bundle of src/saves is, a function of AdapterHost: what counts. */
declare let counted: { count: number; far: number };
