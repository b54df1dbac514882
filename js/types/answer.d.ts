/** What the bundle of src/answer is. */
declare let answer: {
  arm: () => string;
  settle: (quiet: number, patience: number, maxBytes: number) => Promise<string>;
  calm: (quiet: number, patience: number) => Promise<string>;
  read: (maxBytes: number) => Promise<string>;
};

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
  /** The regions in which something changed since. */
  touched: Set<Element>;
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
  /** The text of a JSON list. */
  linked: string;
}
