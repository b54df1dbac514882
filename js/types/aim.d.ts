/** What src/aim evaluates to. */
declare let aim: (what: string, selector: string, text: string) => {
  fault: string;
  final: boolean;
  x: number;
  y: number;
  down: number;
  chosen: boolean;
  several: boolean;
  control: number;
  empty: boolean;
  picks: boolean;
  file: boolean;
};
