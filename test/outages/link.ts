import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * `closed`: nothing passes; `oneWay`: requests pass, replies do not; connections stay open in both. `refused`:
 * connections are refused.
 */
export type LinkState = 'open' | 'closed' | 'oneWay' | 'refused';

/** A TCP proxy on the loopback in front of a server. */
export interface Link {
  readonly port: number;
  set(state: LinkState): void;
  /** Opens, and closes every existing connection: nothing sent earlier arrives any more. */
  reset(): void;
  close(): Promise<void>;
}

export async function openLink(targetPort: number): Promise<Link> {
  let state: LinkState = 'open';
  const pairs = new Set<{ readonly near: Socket; readonly far: Socket }>();
  const apply = ({ near, far }: { readonly near: Socket; readonly far: Socket }): void => {
    if (state === 'closed') near.pause();
    else near.resume();
    if (state === 'open') far.resume();
    else far.pause();
  };
  const server = createServer((near) => {
    if (state === 'refused') return void near.resetAndDestroy();
    const far = connect({ host: '127.0.0.1', port: targetPort });
    const pair = { near, far };
    pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true);
      from.on('data', (chunk: Buffer) => void (to.writable && to.write(chunk)));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        pairs.delete(pair);
        to.destroy();
      });
    }
    apply(pair);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const endAll = (): void => {
    for (const { near, far } of pairs) {
      far.destroy();
      near.destroy();
    }
  };
  return {
    port,
    set(next) {
      state = next;
      if (next === 'refused') endAll();
      for (const pair of pairs) apply(pair);
    },
    reset() {
      state = 'open';
      endAll();
    },
    async close() {
      endAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
