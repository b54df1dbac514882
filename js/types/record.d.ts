/** What the bundle of src/record is. */
declare let record: (() => string) & { own: { getTools: () => Promise<any[]>; executeTool: Function; asked: () => Promise<string> } };
/** The name of the messages between the frames of a page, which the bundle is a function of. */
declare const mark: string;
/** What of the interface the page is shown; null is all of it. */
declare const surface: { objects: string[]; methods: string[]; frozen: boolean } | null;
declare const ModelContext: any;

interface RecordedNote {
  /** Since the navigation began, in milliseconds. */
  at: number;
  /** register, replace, unregister or refuse. */
  kind: string;
  tool: string;
  /** document, navigator, agent or provideContext. */
  surface: string;
  script?: { url: string; line: number; column: number };
  exposedTo?: string[];
  /** JSON, in the page's own words. */
  annotations?: string;
  /** Members that no browser reads, as JSON; null is a function. */
  others?: string;
  title?: string;
  description?: string;
  message?: string;
  unhandled?: boolean;
}

interface RecordedFrame {
  url: string;
  name?: string;
  origin?: string;
  tool?: string;
  allowed?: boolean;
  registers?: boolean;
}

interface RecordedForm {
  name: string;
  description: string;
  declares: boolean;
  autoSubmit: boolean;
  method: string;
  action: string;
  fields: RecordedField[];
}

interface RecordedField {
  name: string;
  type: string;
  label: string;
  description: string;
  required: boolean;
  autocomplete: string;
}
