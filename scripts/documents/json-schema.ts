import { z } from 'zod';
import { ROOT_KEYS } from '../../src/config/root.ts';

/** For editors: what a config file may look like. Generated from the schemas that the loader reads by. */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = generate(tidy);
  return named({ $schema, title: 'Breakwater config', ...rest });
}

/** The same with what each value is expected to be, in words, as `expected`: what the reference is made of. */
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

/** The generator numbers what recursion goes through; readers want names. */
function named(schema: Record<string, unknown>): Record<string, unknown> {
  let text = JSON.stringify(schema);
  const definitions = (schema['definitions'] ?? {}) as Record<string, { allOf?: { $ref?: string }[] }>;
  for (const [name, { allOf }] of Object.entries(definitions)) {
    const numbered = /^#\/definitions\/(__schema\d+)$/.exec(allOf?.[0]?.$ref ?? '')?.[1];
    if (numbered !== undefined) text = text.replaceAll(new RegExp(`\\b${numbered}\\b`, 'g'), `${name}Keys`);
  }
  return JSON.parse(text) as Record<string, unknown>;
}

/** Short forms that the loader takes as well, and marks that are ours. */
function tidy(schema: Record<string, unknown>): void {
  const { expected, alsoOne, shorthand } = schema;
  delete schema['expected'];
  delete schema['alsoOne'];
  delete schema['shorthand'];
  // Typed words do not need their sentence twice; patterns do.
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
