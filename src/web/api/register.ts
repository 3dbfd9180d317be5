import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { ApiError } from './errors.ts';
import { API_ROUTES, openApi } from './openapi.ts';
import type { ApiContext, ApiRoute } from './route.ts';

/** Serves the routes of the API and their description. */
export function registerApi(app: FastifyInstance, context: ApiContext): void {
  let description: string | undefined;
  app.get('/api/v1/openapi.json', { config: { access: 'read' } }, (_request, reply) => {
    // Built on first use, because few clients request it.
    description ??= JSON.stringify(openApi(context.process.version));
    return reply.type('application/json').send(description);
  });
  for (const route of API_ROUTES) register(app, route, context);
}

function register(app: FastifyInstance, route: ApiRoute, context: ApiContext): void {
  const { method, path, access, status, answer } = route;
  app.route({
    method,
    url: path,
    config: { access },
    async handler(request, reply) {
      const input = {
        params: read(route.params, request.params),
        query: route.query === undefined ? {} : read(route.query, request.query),
        body: route.body === undefined ? undefined : read(route.body, request.body ?? {}),
        caller: request.caller,
      };
      const answered = await answer(context, input);
      return await reply.code(status).send(answered);
    },
  });
}

function read(shape: z.ZodType, given: unknown): unknown {
  const result = shape.safeParse(given);
  if (result.success) return result.data;
  const words = result.error.issues.slice(0, 5).map(({ path, message }) => {
    const where = path.map(String).join('.');
    return where === '' ? message : `${where}: ${message}`;
  });
  throw new ApiError(400, 'badRequest', words.join('; '));
}
