import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export const BOARD_PATH = '/queues';
export const CONTROL_PATH = `${BOARD_PATH}/control`;

const READS = ['GET', 'HEAD'];
const CHANGES = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export interface BoardDoor {
  /** Returns the app behind the door, created on first use. */
  open(): Promise<FastifyInstance>;
  close(): Promise<void>;
}

/**
 * Hands requests for the queues' page to a separate app, which is created with the first authorized request: its
 * libraries would take an eighth of the start time, and few people use the page.
 * @param make creates the app, ready for requests
 */
export function registerBoardDoor(app: FastifyInstance, make: () => Promise<FastifyInstance>): BoardDoor {
  let made: Promise<FastifyInstance> | undefined;
  const open = (): Promise<FastifyInstance> => {
    made ??= make().catch((error: unknown) => {
      // The next request tries again.
      made = undefined;
      throw error;
    });
    return made;
  };
  // Runs before the body is read, because the other app reads it.
  const onRequest = async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const behind = await open();
    reply.hijack();
    behind.routing(raw, reply.raw);
  };
  const handler = (): never => {
    throw new Error('a request for the queues’ page was not handed on');
  };
  for (const [prefix, reads] of [
    [BOARD_PATH, 'read'],
    [CONTROL_PATH, 'operate'],
  ] as const) {
    for (const url of [prefix, `${prefix}/*`]) {
      app.route({ method: READS, url, config: { access: reads }, onRequest, handler });
      app.route({ method: CHANGES, url, config: { access: 'operate' }, onRequest, handler });
    }
  }
  return {
    open,
    async close() {
      const opened = await made?.catch(() => undefined);
      await opened?.close();
    },
  };
}
