import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';
import { ApiError, causeOf, errorBody, type FailedRequest, refusalOf } from './api/errors.ts';
import { BOARD_POLICY } from './headers.ts';

/**
 * The queues' own page: `/queues/` for looking, `/queues/control/` for changing, with the control token. A browser
 * asks people for the token by itself (Basic authentication; any name, the token as the password).
 */
export const BOARD_PATH = '/queues';
const CONTROL_PATH = `${BOARD_PATH}/control`;

export async function registerBoard(
  app: FastifyInstance,
  queues: readonly Queue[],
  onError: (error: unknown) => void,
): Promise<void> {
  await registerOne(app, queues, { prefix: BOARD_PATH, readOnly: true, onError });
  await registerOne(app, queues, { prefix: CONTROL_PATH, readOnly: false, onError });
}

interface BoardKind {
  readonly prefix: string;
  readonly readOnly: boolean;
  readonly onError: (error: unknown) => void;
}

async function registerOne(
  app: FastifyInstance,
  queues: readonly Queue[],
  { prefix, readOnly, onError }: BoardKind,
): Promise<void> {
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath(prefix);
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: readOnly })),
    // Its package brings another copy of the same types along.
    serverAdapter,
    options: { uiConfig: { boardTitle: readOnly ? 'Breakwater queues' : 'Breakwater queues (control)' } },
  });
  // Its own would tell what was thrown.
  serverAdapter.setErrorHandler((error) => {
    const { status, code, message } = refusalOf(error as FailedRequest);
    if (status >= 500) onError(causeOf(error));
    return { status: status as 500, body: errorBody(code, message) };
  });
  await app.register(
    async (scope) => {
      scope.addHook('onRoute', (route) => {
        const isRead = [route.method].flat().every((method) => method === 'GET' || method === 'HEAD');
        route.config = { ...route.config, access: readOnly && isRead ? 'read' : 'control' };
      });
      scope.addHook('onRequest', async ({ query }, reply) => {
        reply.header('content-security-policy', BOARD_POLICY);
        checkBounds(query);
      });
      await scope.register(serverAdapter.registerPlugin());
    },
    { prefix },
  );
}

/** The board bounds neither itself. Its own page offers up to 300 jobs. */
const MOST: Readonly<Record<string, number>> = { jobsPerPage: 300, page: 1_000_000 };

/** Anything else that is wrong with them it refuses by itself. */
function checkBounds(query: unknown): void {
  for (const [name, most] of Object.entries(MOST)) {
    const value = Number((query as Readonly<Record<string, unknown>>)[name] ?? 1);
    if (value > most) throw new ApiError(400, 'badRequest', `${name}: must be at most ${most}`);
  }
}
