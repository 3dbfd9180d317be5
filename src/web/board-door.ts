import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Where the queues' page is. */
export const BOARD_PATH = '/queues';
export const CONTROL_PATH = `${BOARD_PATH}/control`;

const READS = ['GET', 'HEAD'];
const CHANGES = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

export interface BoardDoor {
  /** The app behind it, made now if nobody has asked for it yet. */
  open(): Promise<FastifyInstance>;
  close(): Promise<void>;
}

/**
 * Hands requests for the queues' page on to an app of its own. What the page needs took an eighth of a start, and few ever
 * look at it: it is loaded when somebody who may see it asks first.
 * @param make the app, ready for requests
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
  // Before the body is read, which is for the other app.
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
