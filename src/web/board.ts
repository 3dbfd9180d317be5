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
 * The queues' own page: `/queues/` shows them, `/queues/control/` can also repeat and remove a job that failed, with
 * the control token. Nothing else can be changed there: a paused queue would leave every account unwatched. A browser
 * asks people for the token by itself (Basic authentication; any name, the token as the password).
 */
export async function registerBoard(
  app: FastifyInstance,
  queues: readonly Queue[],
  observer: BoardObserver,
): Promise<void> {
  await registerOne(app, queues, { prefix: BOARD_PATH, readOnly: true, ...observer });
  await registerOne(app, queues, { prefix: CONTROL_PATH, readOnly: false, ...observer });
}

interface BoardObserver {
  readonly onError: (error: unknown) => void;
  readonly onJobChanged: (change: JobChange) => void;
}

/** Somebody repeated or removed a job that had failed. */
export interface JobChange {
  readonly queue: string;
  readonly job: string;
  readonly change: 'repeated' | 'removed';
  /** Who, and from where. */
  readonly author: string;
}

interface BoardKind extends BoardObserver {
  readonly prefix: string;
  readonly readOnly: boolean;
}

async function registerOne(
  app: FastifyInstance,
  queues: readonly Queue[],
  { prefix, readOnly, onError, onJobChanged }: BoardKind,
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

/** Repeating or removing one job. */
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

/** The board bounds neither itself. Its own page offers up to 300 jobs. */
const MOST: Readonly<Record<string, number>> = { jobsPerPage: 300, page: 1_000_000 };

/** Anything else that is wrong with them it refuses by itself. */
function checkBounds(query: unknown): void {
  for (const [name, most] of Object.entries(MOST)) {
    const value = Number((query as Readonly<Record<string, unknown>>)[name] ?? 1);
    if (value > most) throw new ApiError(400, 'badRequest', `${name}: must be at most ${most}`);
  }
}
