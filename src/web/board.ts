import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { authorWords } from './access.ts';
import { ApiError, causeOf, errorBody, type FailedRequest, refusalOf } from './api/errors.ts';
import { BOARD_PATH, CONTROL_PATH } from './board-door.ts';
import { BOARD_POLICY } from './headers.ts';

/**
 * Serves the queues' page. `/queues/` shows the queues; `/queues/control/` needs the scope `operate` and can also retry
 * or remove a failed job. Nothing else can be changed there: a paused queue would leave every account unwatched. The
 * browser asks people for the token (Basic authentication; any name, the token as the password).
 */
export async function registerBoard(
  app: FastifyInstance,
  queues: readonly Queue[],
  observer: BoardObserver,
): Promise<void> {
  for (const prefix of [BOARD_PATH, CONTROL_PATH]) await registerOne(app, queues, prefix, observer);
}

interface BoardObserver {
  readonly onError: (error: unknown) => void;
  readonly onJobChanged: (change: JobChange) => void;
}

/** Somebody retried or removed a failed job. */
export interface JobChange {
  readonly queue: string;
  readonly job: string;
  readonly change: 'repeated' | 'removed';
  readonly author: string;
}

async function registerOne(
  app: FastifyInstance,
  queues: readonly Queue[],
  prefix: string,
  { onError, onJobChanged }: BoardObserver,
): Promise<void> {
  const readOnly = prefix === BOARD_PATH;
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath(prefix);
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: readOnly })),
    serverAdapter,
    options: { uiConfig: { boardTitle: readOnly ? 'Breakwater queues' : 'Breakwater queues (control)' } },
  });
  // The default handler would reveal the error.
  serverAdapter.setErrorHandler((error) => {
    const { status, code, message } = refusalOf(error as FailedRequest);
    if (status >= 500) onError(causeOf(error));
    return { status: status as 500, body: errorBody(code, message) };
  });
  await app.register(
    async (scope) => {
      scope.addHook('onRoute', (route) => {
        const isRead = [route.method].flat().every((method) => method === 'GET' || method === 'HEAD');
        route.config = { ...route.config, access: readOnly && isRead ? 'read' : 'operate' };
        if (isRead || readOnly) return;
        route.preHandler = onlyOfFailedJobs(queues, OF_ONE_JOB.test(route.url));
        const change = route.url.endsWith('/retry') ? 'repeated' : 'removed';
        route.onResponse = async ({ params, caller }, { statusCode }) => {
          const { queueName: queue, jobId: job } = params as { queueName: string; jobId: string };
          if (statusCode < 300) onJobChanged({ queue, job, change, author: authorWords(caller) });
        };
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

const OF_ONE_JOB = /\/api\/queues\/:queueName\/:jobId\/(retry|clean)$/;

function onlyOfFailedJobs(queues: readonly Queue[], isOfOneJob: boolean) {
  return async ({ params }: FastifyRequest): Promise<void> => {
    const { queueName, jobId } = params as { readonly queueName?: string; readonly jobId?: string };
    if (!isOfOneJob || jobId === undefined) throw new ApiError(405, 'methodNotAllowed', ONLY_FAILED);
    const state = await queues.find(({ name }) => name === queueName)?.getJobState(jobId);
    if (state !== 'failed') throw new ApiError(409, 'refused', ONLY_FAILED);
  };
}

const ONLY_FAILED = 'the board repeats and removes jobs that failed, and changes nothing else';

/** Upper bounds of query parameters that the board does not bound. Its page offers up to 300 jobs. */
const MOST: Readonly<Record<string, number>> = { jobsPerPage: 300, page: 1_000_000 };

/** Checks only the upper bounds: the board refuses other invalid values. */
function checkBounds(query: unknown): void {
  for (const [name, most] of Object.entries(MOST)) {
    const value = Number((query as Readonly<Record<string, unknown>>)[name] ?? 1);
    if (value > most) throw new ApiError(400, 'badRequest', `${name}: must be at most ${most}`);
  }
}
