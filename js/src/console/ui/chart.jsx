// @ts-check
// A small drawing of numbers over time.

const width = 90, height = 20; // pixels

/** @param {{of: number[], label: string}} props label says in words what is drawn */
export function Sparkline({ of, label }) {
  const most = Math.max(1, ...of), step = width / Math.max(1, of.length - 1);
  const points = of.map((n, i) => `${(i * step).toFixed(1)},${(height - 1 - n / most * (height - 2)).toFixed(1)}`).join(' ');
  return <svg class="sparkline" role="img" aria-label={label} width={width} height={height} viewBox={`0 0 ${width} ${height}`}><polyline points={points} /></svg>;
}
