// Holds documents to the JSON Schema of their version of OpenAPI. The arguments are their addresses.
import { Validator } from '@seriousme/openapi-schema-validator';
import { done, test } from './tap.mjs';

const judge = async (document) => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(document);
  return valid ? '' : `OpenAPI ${validator.version}: ${JSON.stringify(errors)}`;
};

for (const address of process.argv.slice(2)) {
  await test(address, async () => {
    const document = await (await fetch(address)).json();
    if (Object.keys(document.paths).length === 0) throw new Error('it has no operations');
    const wrong = await judge(document);
    if (wrong) throw new Error(wrong);
    // That nothing is said means something: the same without a summary of responses is refused.
    for (const item of Object.values(document.paths)) delete item.post.responses['200'].description;
    if (!(await judge(document))) throw new Error('the validator takes anything');
  });
}
done();
