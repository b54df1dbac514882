/** What the bundle of src/answer is. */
declare let answer: {
  arm: () => string;
  settle: (quiet: number, patience: number, maxBytes: number) => Promise<string>;
  calm: (quiet: number, patience: number) => Promise<string>;
  read: (maxBytes: number) => Promise<string>;
};

/** Where elements are looked for. */
type Tree = Document | ShadowRoot | Element;

/** What a document was like when a form in it was submitted. */
interface AnswerBefore {
  form: HTMLFormElement | null;
  /** What it was like then, and when its handlers had returned; null until they have. */
  was: AnswerState;
  soon: AnswerState | null;
  /** What of that is not as it was then, since the page was looked at. */
  moved: { [name in keyof AnswerState]?: { at: number; value: string; again: boolean } };
  alerts: string[];
  /** The alerts before the form was filled. */
  unfilled: string[];
  statuses: string[];
  linked: string;
  /** The regions in which something changed since. */
  touched: Set<Element>;
  /** What regions said since, and how often one was read. */
  heard: Map<Element, { text: string; alert: boolean }>;
  hearings: number;
  /** How many elements are busy, and how many buttons of the form disabled. */
  busy: number;
  disabled: number;
  /** Whether the handlers changed the document before they returned. */
  changed: boolean;
  /** When the nodes that changed later did so lately. */
  later: Map<Node, number[]>;
  /** When something changed last, on the clock of performance. */
  last: number;
}

/** What a document is like besides its nodes; document is the values of the controls outside of the form. */
interface AnswerState {
  address: string;
  title: string;
  form: string;
  storage: string;
  document: string;
}

/** What a document shows; shim.Page is its other half. */
interface AnswerPage {
  status: number;
  address: string;
  title: string;
  alerts: string[];
  statuses: string[];
  /** Of a document that is no page. */
  text: string;
  invalid: { field: string; message: string }[];
  changed: string[];
  /** Whether the page may have done all of that without the submit: it is known when more time has passed. */
  unsure: boolean;
  /** The addresses that the page asks for at its own pace, with # for numbers. */
  polls: string[];
  /** How the page shows that it is not done. */
  busy: '' | 'says' | 'button';
  /** The text of a JSON list. */
  linked: string;
}
