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
  values: string;
  address: string;
  title: string;
  alerts: string[];
  /** The alerts before the form was filled. */
  unfilled: string[];
  statuses: string[];
  linked: string;
  stored: string;
  /** The values of the controls outside of the form. */
  controls: string;
  /** The regions in which something changed since. */
  touched: Set<Element>;
  /** What regions said since, and how often one was read. */
  heard: Map<Element, { text: string; alert: boolean }>;
  hearings: number;
  /** How many elements are busy, and how many buttons of the form disabled. */
  busy: number;
  disabled: number;
  changed: boolean;
  /** When something changed last, on the clock of performance. */
  last: number;
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
  /** How the page shows that it is not done. */
  busy: '' | 'says' | 'button';
  /** The text of a JSON list. */
  linked: string;
}
