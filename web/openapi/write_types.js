// Writes the types of the page's requests and answers from Studio's OpenAPI document.
// Run: node openapi/write_types.js openapi.json src/api/schema.ts
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const [source, target] = process.argv.slice(2);
const document = JSON.parse(readFileSync(source, "utf8"));
// Only what is sent and answered: the page's own functions know the addresses.
const parts = { ...document, paths: {} };
const types = await openapiTS(parts, {
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
  defaultNonNullable: false,
});
const head =
  "// Made by `make page` from the models of `corporeal.studio`; edit those, not this.\n";
const text = head + astToString(types);
// Left alone where nothing changed, so that whoever watches the file does not build again.
let before = "";
try {
  before = readFileSync(target, "utf8");
} catch {
  // The first time.
}
if (text !== before) writeFileSync(target, text);
