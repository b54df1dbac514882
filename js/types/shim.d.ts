// The records that the modules of src/shim pass to each other. All of them have a null prototype.

/** What the bundle evaluates to; main.js assigns it, the build returns it. */
declare let shim: Shim;

interface Shim {
  readonly watch: (rev: number) => Promise<string>;
  readonly call: (callID: string, toolID: number, inputText: string, maxBytes: number, knownRev: number) => Promise<string>;
  readonly abort: (callID: string, reason: string) => boolean;
  readonly shutdown: (reason: string) => number;
}

type Via = 'registerTool' | 'provideContext' | 'manifest';
type ReplyKind = 'ok' | 'error' | 'aborted' | 'gone' | 'invalid' | 'too_large' | 'unhandled';

/** A descriptor of ours inherits nothing, so that the page cannot add members to it. */
interface PropertyDescriptor {
  __proto__?: null;
}

interface NullRecord {
  __proto__: null;
}

/** A registration. A schema that is undefined was not given; null is too large to be sent. */
interface Tool extends NullRecord {
  id: number;
  name: string;
  title: string | undefined;
  description: string;
  inputSchema: string | undefined | null;
  outputSchema: string | undefined | null;
  /** The members of a JSON object, without its braces. */
  annotations: string;
  via: Via;
  execute: Function | undefined;
  /** Why this tool is not sent. */
  refusal: Refusal | null;
  /** The entry in the state text, without braces and id. */
  text: string;
}

/** A tool as the page gave it, converted but not checked. */
interface Draft extends NullRecord {
  /** What opens the messages of errors. */
  prefix: string;
  name: string;
  title: string | undefined;
  description: string;
  execute: Function | undefined;
  inputSchema: object | undefined;
  outputSchema: object | undefined;
  annotations: string;
  via: Via;
}

interface Refusal extends NullRecord {
  name: string;
  rule: string;
  message: string;
  next: Refusal | null;
}

interface Origins extends NullRecord {
  url: string;
  next: Origins | null;
}

/** A registration promise that is settled after the next toolchange. */
interface Pending extends NullRecord {
  resolve: () => void;
  reject: (reason: any) => void;
}

interface Registry extends NullRecord {
  rev: number;
  lastID: number;
  script: Map<string, Tool>;
  manifest: Map<string, Tool>;
  refused: Refusal | null;
  waiter: ({ rev: number; resolve: (text: string) => void } & NullRecord) | null;
  pending: Map<Tool, Pending>;
  scheduled: boolean;
  /** The document that the tools belong to. */
  document: Document;
}

interface Call extends NullRecord {
  id: string;
  inputText: string;
  maxBytes: number;
  knownRev: number;
  resolve: (reply: string) => void;
  controller: AbortController | null;
  signal: AbortSignal | null;
  /** Whether code of the page may have run because of this call. */
  ran: boolean;
  done: boolean;
  interactions: number;
  /** Rejects the user interaction that is in progress. */
  interact: ((reason: any) => void) | null;
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

interface Handler extends NullRecord {
  callback: any;
  listener: (event: Event) => void;
}

interface Reply extends NullRecord {
  kind: ReplyKind;
  rev: number;
  ran: boolean;
  name: string;
  message: string;
  payload: string;
  bytes: number;
}

interface EncodeOptions extends NullRecord {
  max: number;
  lenient: boolean;
  /** What a path starts with. */
  root: string;
}

interface EncodeJob extends NullRecord {
  out: string;
  bytes: number;
  max: number;
  lenient: boolean;
  path: string;
  failure: ({ kind: 'invalid' | 'too_large'; message: string } & NullRecord) | null;
  ancestors: Set<object>;
}

interface Encoded extends NullRecord {
  kind: 'ok' | 'undefined' | 'invalid' | 'too_large' | 'threw';
  text: string;
  bytes: number;
  message?: string;
  error?: any;
}
