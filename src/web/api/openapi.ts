import { z } from 'zod';
import { actionLineSchema } from '../../core/view/action-log.ts';
import { CONTROL_ROUTES } from './control-routes.ts';
import { COST_ROUTES } from './cost-routes.ts';
import { ORDER_ROUTES } from './order-routes.ts';
import { READ_ROUTES } from './read-routes.ts';
import type { ApiRoute } from './route.ts';
import { errorReply } from './schemas.ts';

/** Every operation of the API that answers with one JSON document. */
export const API_ROUTES: readonly ApiRoute[] = [
  ...READ_ROUTES,
  ...COST_ROUTES,
  ...CONTROL_ROUTES,
  ...ORDER_ROUTES,
];

const REF = '#/components/schemas/';
const JSON_TYPE = 'application/json';

type Json = Readonly<Record<string, unknown>>;

/** Returns the description of the API (OpenAPI 3.1), generated from the schemas that serve it. */
export function openApi(version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of API_ROUTES) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  }
  paths['/api/v1/events'] = { get: EVENTS };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Breakwater',
      version,
      description:
        'What the daemons see, decide and do, from the shared state. Times are Unix milliseconds, ratios ' +
        'fractions, amounts and prices decimal texts. A figure that is null is unknown, "none" says that there is none.',
    },
    servers: [{ url: '/' }],
    security: [{ readToken: [] }, {}],
    paths,
    components: { schemas: components(), securitySchemes: SECURITY },
  };
}

const bearer = (description: string): Json => ({ type: 'http', scheme: 'bearer', description });

const SECURITY: Json = {
  readToken: bearer(
    '`web.token`, or that of one of `web.users`; needed where there are any. The control token is taken as well.',
  ),
  controlToken: bearer(
    '`web.controlToken`, or that of one of `web.users` with the scope control (deposit links and orders: operate). Without one ' +
      'nothing can be changed.',
  ),
};

const jsonOf = (schema: Json): Json => ({ [JSON_TYPE]: { schema } });

const NOT_DONE: Json = { description: 'Not done.', content: jsonOf({ $ref: `${REF}Error` }) };

function operationOf(route: ApiRoute): Json {
  const { id, summary, access, params, query, body, status, reply } = route;
  return {
    operationId: id,
    summary,
    ...(access === 'read' ? {} : { security: [{ controlToken: [] }] }),
    parameters: [...parametersOf(params, 'path'), ...parametersOf(query, 'query')],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: jsonOf(schemaOf(body, 'input')) } }),
    responses: {
      [String(status)]: { description: 'Done.', content: jsonOf(schemaOf(reply, 'output')) },
      default: NOT_DONE,
    },
  };
}

function parametersOf(shape: z.ZodType | undefined, place: 'path' | 'query'): readonly Json[] {
  if (shape === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(shape, 'input') as {
    properties?: Record<string, Json>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description = '', ...schema }]) => {
    const isRequired = place === 'path' || required.includes(name);
    return { name, in: place, required: isRequired, description, schema };
  });
}

/** Returns the JSON Schema, with references to named schemas. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const named = schema.meta()?.id;
  if (named !== undefined) return { $ref: REF + named };
  const { $schema: _schema, $defs: _defs, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rewritten(rest) as Json;
}

function components(): Json {
  const replies = [...API_ROUTES.map(({ reply }) => reply), errorReply, actionLineSchema];
  const all = z.object(Object.fromEntries(replies.map((reply, index) => [`reply${index}`, reply])));
  const { $defs = {} } = z.toJSONSchema(all, { io: 'output', unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries($defs).map(([name, { id: _id, ...schema }]) => [name, rewritten(schema)]),
  );
}

/** Rewrites references from `#/$defs/Name` to `#/components/schemas/Name`. */
function rewritten(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${REF}`)) as unknown;
}

const EVENTS: Json = {
  operationId: 'listen',
  summary: 'Changes as they happen, as server-sent events.',
  description:
    'Events: `hello` {version, atMs}; `overview` {changed}: the keys of Overview that changed, the first one ' +
    'complete; `account` {accountId, changed}: the same of Account; `gone` {accountId}: not in the config any more; ' +
    '`action`: an Action, again with the same id when its outcome is known; with `rows=true` also `rows` {rows, ids, cursor}: ' +
    'the Rows that changed, all at first; the ids of all accounts, when they changed; and with the last part a cursor. ' +
    'Who comes back with that cursor gets only what changed since. A comment line is sent every 15 s. ' +
    'A client that does not read is closed; on coming back it gets everything anew. With a token, read it with ' +
    '`fetch`, as `EventSource` sends no headers.',
  parameters: Object.entries({
    accounts: 'Ids, separated by commas, at most 100; without it only the overview and actions.',
    rows: '`true`: a Row of every account is sent, too. Or the cursor of those that came before.',
  }).map(([name, description]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema: { type: 'string' },
  })),
  responses: {
    '200': {
      description: 'Until either side ends it.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    default: NOT_DONE,
  },
};
