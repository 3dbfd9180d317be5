import { setTimeout as sleep } from 'node:timers/promises';
import type { Closers } from '../support/closers.ts';
import { openClusterScene } from '../support/clusters.ts';
import { openSentinelScene, PRIMARY } from '../support/sentinels.ts';
import { until } from '../support/until.ts';
import type { FailoverCase } from './failover-case.ts';

export const PREFIX = 'bw';

export interface Servers {
  readonly url: string;
  /** Prepares the trouble before the moment comes. */
  readonly prepare: () => Promise<void>;
  readonly trouble: () => Promise<void>;
  /** Causes the trouble; resolves when another server is in use. */
  readonly settled: () => Promise<void>;
}

export async function openServers(played: FailoverCase, closers: Closers): Promise<Servers> {
  return played.keeper === 'sentinel'
    ? await openSentinels(played, closers)
    : await openCluster(played, closers);
}

async function openSentinels({ trouble }: FailoverCase, { add: closing }: Closers): Promise<Servers> {
  const scene = await openSentinelScene({ closing });
  const [primary, replica] = scene.servers;
  return {
    url: `redis+sentinel://${scene.hosts}/${PRIMARY}`,
    async prepare() {
      if (trouble === 'killWithLostWrites') await scene.cutReplication();
    },
    async trouble() {
      if (trouble === 'hang') primary.pause();
      else if (trouble === 'swap') await scene.swap();
      else await primary.kill();
    },
    settled: () => until(async () => (await scene.namedPort()) === replica.port, 'a new primary'),
  };
}

async function openCluster(played: FailoverCase, { add: closing }: Closers): Promise<Servers> {
  const { trouble, keysFirst, pauseMs } = played;
  const scene = await openClusterScene({ closing, key: `{${PREFIX}}` });
  const { primary, replica, others } = scene;
  const isMoved = trouble === 'moveSlot' || trouble === 'moveSlotAtOnce';
  const next = isMoved ? others[0] : replica;
  return {
    url: `redis+cluster://${scene.hosts}`,
    async prepare() {
      if (trouble === 'killWithLostWrites') await scene.cutReplication();
    },
    async trouble() {
      if (trouble === 'hang') primary.pause();
      else if (trouble === 'swap') await replica.redis.call('CLUSTER', 'FAILOVER');
      else if (isMoved) {
        await scene.beginMove(primary, next);
        if (trouble === 'moveSlot') {
          await scene.moveKeys(primary, next, keysFirst);
          await sleep(pauseMs);
        }
        await scene.endMove(primary, next);
      } else await primary.kill();
    },
    settled: () => until(async () => (await scene.serverOf(next)) === next.id, 'a new node for the slot'),
  };
}
