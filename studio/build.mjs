/** Builds the page into the Python package: the same sources give the same bytes. */

import { readFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const page = process.argv[2] ?? join(here, "../src/unspool/studio/page");

const result = await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.tsx" },
  outdir: page,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none", // notices() has the licences whole
  metafile: true,
  write: false,
});

/** The licences of what is bundled ask to travel with it. */
function notices({ outputs }) {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const used = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const found = used.map(([path]) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  const names = [...new Set(found.filter(Boolean))].sort();
  const texts = names.map((name) => {
    const text = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim();
    return `${name}\n\n${text.replaceAll("*/", "* /")}`;
  });
  return `/*! This page contains:\n\n${texts.join("\n\n\n")}\n*/\n`;
}

const files = { "index.html": readFileSync(join(here, "src/index.html"), "utf8") };
for (const { path, text } of result.outputFiles) {
  const name = path.endsWith(".css") ? "page.css" : "page.js";
  files[name] = name === "page.js" ? text + notices(result.metafile) : text;
}

mkdirSync(page, { recursive: true });
let [raw, packed] = [0, 0];
for (const [name, text] of Object.entries(files)) {
  writeFileSync(join(page, name), text);
  const bytes = Buffer.from(text);
  const zipped = gzipSync(bytes, { level: 9 }).length;
  [raw, packed] = [raw + bytes.length, packed + zipped];
  console.log(`${name.padEnd(12)}${bytes.length} bytes, ${zipped} gzip`);
}
console.log(`${"in all".padEnd(12)}${raw} bytes, ${packed} gzip`);
