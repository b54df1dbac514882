// The records that the modules of src/shim pass to each other. All of them have a null prototype.

/** What the bundle evaluates to; main.js assigns it, the build returns it. */
declare let shim: Shim;

/** The type of the event by which the documents of a tab meet; the bundle is a function of it. */
declare const secret: string;

interface Shim {
  readonly watch: (rev: number, room: number) => Promise<string>;
  readonly call: (callID: string, toolID: number, inputText: string, maxBytes: number, knownRev: number) => Promise<string>;
  readonly abort: (callID: string, reason: string) => boolean | Promise<boolean>;
  readonly shutdown: (reason: string) => number | Promise<number>;
  readonly attend: () => void;
  readonly own?: (epoch: number) => object;
  readonly outcome?: (callID: string) => string;
  readonly host: AdapterHost;
}

type Via = 'registerTool' | 'provideContext' | 'form' | 'manifest';
type ReplyKind = 'ok' | 'error' | 'aborted' | 'gone' | 'invalid' | 'too_large' | 'unhandled' | 'submitted' | 'awaiting' | 'unsure' | 'handled' | 'unsubmitted' | 'asking' | 'parts';

/** A descriptor of ours inherits nothing, so that the page cannot add members to it. */
interface PropertyDescriptor {
  __proto__?: null;
}

interface NullRecord {
  __proto__: null;
}

/** A registration. A schema that is undefined was not given; null is too large to be sent. */
interface Tool {
  id: number;
  name: string;
  title: string | undefined;
  description: string;
  inputSchema: string | undefined | null;
  outputSchema: string | undefined | null;
  /** The members of a JSON object, without its braces. */
  annotations: string;
  via: Via;
  /** The adapter that registered it, counted from 1; 0 is none. */
  adapter: number;
  execute: Function | undefined;
  /** Whether annotations were given, be it none. */
  annotated: boolean;
  /** What execute gets as this. */
  self: any;
  /** The page's own object that this was registered on, when it is mirrored from there. */
  owner: object | null;
  /** Where the page exposes it, for the browser's own WebMCP. */
  exposedTo: Origins | null;
  /** Why this tool is not sent. */
  refusal: Refusal | null;
  /** The entry in the state text, without braces and id. */
  text: string;
  /** Of a declarative tool. */
  form: Element | null;
}

/** A tool as the page gave it, converted but not checked. */
interface Draft {
  /** What opens the messages of errors. */
  prefix: string;
  name: string;
  title: string | undefined;
  description: string;
  execute: Function | undefined;
  /** A string is the schema's text. */
  inputSchema: object | string | undefined;
  outputSchema: object | undefined;
  annotations: string;
  annotated: boolean;
  via: Via;
}

interface Refusal {
  name: string;
  rule: string;
  message: string;
  next: Refusal | null;
}

/** What went wrong in the document: the entries of the state text, and how many. */
interface Problems extends NullRecord {
  text: string;
  count: number;
  /** Whether there was more than is kept. */
  full: boolean;
  seen: Set<string>;
  scheduled: boolean;
}

interface Origins {
  url: string;
  next: Origins | null;
}

/** A registration promise that is settled after the next toolchange. */
interface Pending extends NullRecord {
  resolve: () => void;
  reject: (reason: any) => void;
}

/** Whose code registers tools, and what is said of adapters' tools. */
interface Registrar extends NullRecord {
  adapter: number;
  /** Whether its refusals are nobody's business. */
  quiet: boolean;
  /** Is told that another document has the window. */
  renewed: () => void;
  /** Is told of a tool of an adapter whose name the page takes. */
  shadowed: (tool: Tool) => void;
  /** Says who has a name. */
  explain: (name: string) => string;
}

/** What the bundle of src/adapter gets of the page script. */
interface AdapterHost extends NullRecord {
  registrar: Registrar;
  wait: () => () => void;
  find: (name: string) => Tool | null;
  failed: (adapter: number, reason: any) => void;
  problem: (kind: string, name: string, message: string, at: string, adapter?: number) => void;
  context: () => any;
  adapt: ((config: string, run: (context: any) => Promise<any>) => void) | null;
  /** What src/saves counts. */
  saves: { count: number; far: number } & NullRecord;
}

interface Registry extends NullRecord {
  /** How many adapters are waited for. */
  held: number;
  adapters: Map<string, Tool>;
  rev: number;
  changes: number;
  lastID: number;
  script: Map<string, Tool>;
  forms: Map<string, Tool>;
  manifest: Map<string, Tool>;
  refused: Refusal | null;
  waiter: ({ rev: number; room: number; resolve: (text: string) => void } & NullRecord) | null;
  pending: Map<Tool, Pending>;
  scheduled: boolean;
  /** Whether more tools of the document are on the way; null before that was known. */
  coming: boolean | null;
  /** The document that the tools belong to. */
  document: Document;
  problems: Problems;
}

interface Call {
  /** '' when a page called. */
  id: string;
  /** How often the document had clicked links that save something when the call began. */
  saves: number;
  /** The same of those that save something of a server. */
  far: number;
  /** The tool's. */
  name: string;
  inputText: string;
  maxBytes: number;
  knownRev: number;
  /** Takes the reply, once; for a page the result, null when a form left the document. Null while nobody listens. */
  resolve: ((reply: any) => void) | null;
  /** What was to be said meanwhile. */
  kept: Said | null;
  /** Only when a page called: every end but a result. */
  reject: (() => void) | null;
  controller: AbortController | null;
  signal: AbortSignal | null;
  /** Whether code of the page may have run because of this call. */
  ran: boolean;
  done: boolean;
  interactions: number;
  /** The user interaction that is in progress. */
  interact: Interaction | null;
  /** How far a result has come that arrives in parts; null where none does, or nobody can be told. */
  parts: Parts | null;
  /** What the parts come from, as long as it is not at its end. */
  iterator: any;
}

/** How far a result has come that arrives in parts. */
interface Parts extends NullRecord {
  count: number;
  /** The count that was told last. */
  told: number;
  /** JSON text of the last part. */
  last: string;
  /** Whether they were told just now. */
  rests: boolean;
}

/** A part of a reply. */
interface Said extends NullRecord {
  kind: ReplyKind;
  name: string;
  message: string;
  payload: string;
  bytes: number;
}

/** What ends a user interaction. */
interface Interaction extends NullRecord {
  accept: (value: any) => void;
  reject: (reason: any) => void;
  /** whether the other side knows of it, and that other calls may run meanwhile */
  told: boolean;
  waits: boolean;
}

interface ToolCall extends NullRecord {
  name: string;
  dispatching: boolean;
  input: () => any;
  /** Takes the answer; null when none is taken any more. */
  respond: ((value: any) => void) | null;
  /** Why respond is null. */
  fault: string;
}

interface Handler {
  callback: any;
  listener: (event: Event) => void;
}

/** What a document offers to the others of its origin in the tab. Its functions are of that document's realm. */
interface Peer extends NullRecord {
  window: Window;
  origin: () => string;
  each: (visit: (tool: Tool) => void) => void;
  find: (key: number | string) => Tool | null;
  /** Runs a tool; returns what aborts the call. */
  run: (tool: Tool, inputText: string, resolve: (text: string | null) => void, reject: () => void) => () => void;
  /** Dispatches toolchange. */
  changed: () => void;
}

interface Reply extends NullRecord {
  /** How often the call clicked links that save something, and something of a server. */
  saves: number;
  far: number;
  kind: ReplyKind;
  rev: number;
  ran: boolean;
  name: string;
  message: string;
  payload: string;
  bytes: number;
  /** What was not told yet of a result that arrives in parts; 0 is nothing. */
  parts: number;
  last: string;
}

/** Where the writing is. */
interface Trail {
  holder: object;
  /** null before the first. */
  key: string | number | null;
  up: Trail | null;
  depth: number;
}

/** A binary value in a result: a gap in its text. */
interface Part {
  /** Its class. */
  tag: string;
  value: any;
  /** What was written since the part before. */
  text: string;
  path: string;
  next: Part | null;
}

interface EncodeJob {
  out: string;
  bytes: number;
  max: number;
  lenient: boolean;
  root: string;
  trail: Trail | null;
  fault: { kind: 'invalid' | 'too_large'; message: string } | null;
  parts: Part | null;
}

interface Encoded extends NullRecord {
  kind: 'ok' | 'undefined' | 'invalid' | 'too_large' | 'threw';
  text: string;
  bytes: number;
  message: string;
  error: any;
  parts: Part | null;
}

/** A parameter of a form: the controls that have its name. */
interface Param extends NullRecord {
  form: Element;
  name: string;
  type: string;
  first: Control;
  last: Control;
}

interface Control extends NullRecord {
  element: Element;
  next: Control | null;
}

/** A call of a form from when its fields are filled. */
interface FormCall extends NullRecord {
  form: Element;
  button: Element | null;
  /** Whether it waits for a person. */
  waiting: boolean;
  done: boolean;
  /** Whether respondWith comes too late. */
  over: boolean;
  /** The submit event, when it came. */
  event: Event | null;
  /** What respondWith was given. */
  response: ({ value: any } & NullRecord) | null;
  resolve: (value: any) => void;
  reject: (reason: any) => void;
}

/** A call of a form in the browser's own WebMCP, until it is known what its submit was. */
interface NativeSubmit extends NullRecord {
  promise: Promise<string>;
  resolve: (text: string) => void;
  /** Resolves it, once the event of the submit is over. */
  known: () => void;
}

/**
 * How a call of a form ended without a value: submitted, where message is the target; waiting for a person; submitted without
 * anybody knowing what came of it, or not submitted, where message says why; or taken by a script of the page.
 */
interface FormEnd extends NullRecord {
  kind: 'submitted' | 'awaiting' | 'unsure' | 'handled' | 'unsubmitted';
  message: string;
}
