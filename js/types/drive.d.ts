/** What src/drive evaluates to. */
declare let drive: {
  /** names returns the names of the tools that the page can run. */
  names: () => Promise<string[]>;
  /** execute runs a tool, and returns how that ended as replies of the page script do. */
  execute: (name: string, input: string) => Promise<string>;
};

interface Document {
  readonly modelContext: any;
}
