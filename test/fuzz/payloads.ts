import { actJobSchema, notifyJobSchema, pollJobSchema, readPayload } from '../../src/queues/payloads.ts';
import { jsonSchemaOf, valueOf } from './from-schema.ts';
import { mutatedJson, oneOf } from './mutate.ts';
import type { Boundary } from './target.ts';

const JOBS = [pollJobSchema, actJobSchema, notifyJobSchema].map((schema) => ({
  schema,
  json: jsonSchemaOf(schema),
}));

/** The payload of a job is used, or refused with the path of the error. */
export const PAYLOADS: Boundary = {
  name: 'payloads',
  open: async () => ({
    make(draw) {
      const { schema, json } = oneOf(draw, JOBS);
      const value = valueOf(draw, json);
      const text = draw() < 0.1 ? JSON.stringify(value) : mutatedJson(draw, value);
      // The queue library parses a job before the project's code sees it.
      const data: unknown = JSON.parse(text);
      return {
        text,
        run() {
          const read = readPayload<unknown>(schema, data);
          if (!read.ok && (read.why === '' || read.why.length > 4_000))
            throw new Error(`why: ${read.why.slice(0, 500)}`);
        },
      };
    },
    close: async () => undefined,
  }),
};
