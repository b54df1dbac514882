/** What the bundle of src/adapter is. */
declare let adapt: (config: string, run: (context: any) => Promise<any>) => void;
/** What of the page script the bundle is a function of. */
declare const host: AdapterHost;

/** What is known of an adapter in a page; shim.AdapterConfig is its other half. */
interface AdapterConfig {
  /** Counted from 1. */
  index: number;
  name: string;
  /** Of the pages that it may run in. */
  origins: string[];
  /** Regular expressions of addresses without what follows #. */
  match: string[];
  /** Whether frames of the page's origin count, too. */
  frames: boolean;
  at: 'start' | 'end' | 'idle';
  /** Whether a name that the page has is no finding. */
  quiet: boolean;
}
