/** What src/drive evaluates to. */
declare let drive: {
  /** names returns the names of the tools that the page can run. */
  names: () => Promise<string[]>;
  /** execute runs a tool, and returns how that ended as replies of the page script do. */
  execute: (name: string, input: string) => Promise<string>;
  /** asked waits for the next tool that asks a person, and names it. */
  asked: () => Promise<string>;
};

/** What of the page lists and runs its tools. */
declare const own: { getTools: () => Promise<any[]>; executeTool: Function; asked: () => Promise<string> };

interface Document {
  readonly modelContext: any;
}
