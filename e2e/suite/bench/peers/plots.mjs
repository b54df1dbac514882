// Draws the figures of "make bench-peers": node plots.mjs FIGURES.json FOLDER.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, View } from "vega";
import { compile } from "vega-lite";

const [figures, folder] = process.argv.slice(2);
const { growth } = JSON.parse(await readFile(figures, "utf8"));

for (const { name, x, y, points } of growth) {
  const peers = [...new Set(points.map((point) => point.peer))];
  const { spec } = compile({
    width: 520, height: 300, background: "white",
    data: { values: points },
    mark: { type: "line", strokeWidth: 2, point: { size: 40, filled: true } },
    encoding: {
      x: { field: "x", type: "quantitative", scale: { type: "log", nice: false }, title: x, axis: { values: [...new Set(points.map((point) => point.x))] } },
      y: { field: "y", type: "quantitative", scale: { type: "log" }, title: y },
      color: { field: "peer", type: "nominal", sort: peers, title: null, legend: { labelLimit: 300 }, scale: { scheme: "tableau10" } },
      shape: { field: "peer", type: "nominal", sort: peers, title: null },
    },
  });
  const svg = await new View(parse(spec)).toSVG();
  await writeFile(join(folder, `${name}.svg`), svg + "\n");
}
