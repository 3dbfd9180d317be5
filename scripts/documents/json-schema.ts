import { z } from 'zod';
import { ROOT_KEYS } from '../../src/config/root.ts';

/** JSON schema of the config file, for editors. Generated from the schemas that the loader uses. */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = generate(tidy);
  return named({ $schema, title: 'Breakwater config', ...rest });
}

/** The same schema with `expected`: a description of each value. The config reference is made from it. */
export function describedJsonSchema(): Record<string, unknown> {
  return generate(() => undefined);
}

function generate(change: (schema: Record<string, unknown>) => void): Record<string, unknown> {
  return z.toJSONSchema(z.strictObject(ROOT_KEYS), {
    io: 'input',
    target: 'draft-07',
    override: ({ jsonSchema }) => change(jsonSchema as Record<string, unknown>),
  });
}

/** The generator gives numbers to recursive definitions; readers want names. */
function named(schema: Record<string, unknown>): Record<string, unknown> {
  let text = JSON.stringify(schema);
  const definitions = (schema['definitions'] ?? {}) as Record<string, { allOf?: { $ref?: string }[] }>;
  for (const [name, { allOf }] of Object.entries(definitions)) {
    const numbered = /^#\/definitions\/(__schema\d+)$/.exec(allOf?.[0]?.$ref ?? '')?.[1];
    if (numbered !== undefined) text = text.replaceAll(new RegExp(`\\b${numbered}\\b`, 'g'), `${name}Keys`);
  }
  return JSON.parse(text) as Record<string, unknown>;
}

/** Adds the short forms that the loader accepts and removes the project's own marks. */
function tidy(schema: Record<string, unknown>): void {
  const { expected, alsoOne, shorthand } = schema;
  delete schema['expected'];
  delete schema['alsoOne'];
  delete schema['shorthand'];
  // An editor already describes a typed value; a failed pattern needs the sentence.
  if (typeof expected === 'string' && schema['pattern'] !== undefined)
    schema['patternErrorMessage'] = `expected ${expected}`;
  if (alsoOne === true) {
    const { type, items, minItems } = schema;
    delete schema['type'];
    delete schema['items'];
    delete schema['minItems'];
    schema['anyOf'] = [items, { type, items, ...(minItems === undefined ? {} : { minItems }) }];
  }
  if (typeof shorthand === 'string') {
    const { type, properties, required, additionalProperties } = schema;
    for (const key of ['type', 'properties', 'required', 'additionalProperties']) delete schema[key];
    const short = (properties as Record<string, Record<string, unknown>> | undefined)?.[shorthand];
    const { description: _description, ...shortSchema } = short ?? {};
    schema['anyOf'] = [
      shortSchema,
      { type, properties, ...(required === undefined ? {} : { required }), additionalProperties },
    ];
  }
}
