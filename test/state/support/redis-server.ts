import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

export interface PrivateRedis {
  readonly url: string;
  connect(): Redis;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return address !== null && typeof address === 'object' ? address.port : 0;
}

/** A Redis server for one test file, on a free loopback port, without persistence. */
export async function startRedis(): Promise<PrivateRedis> {
  const directory = mkdtempSync(join(tmpdir(), 'breakwater-redis-'));
  const port = await freePort();
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--hz',
    '100',
  ];
  const server = spawn('redis-server', [...args, '--dir', directory], { stdio: 'ignore' });
  const connections: Redis[] = [];
  const connect = () => {
    const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null, retryStrategy: () => 20 });
    redis.on('error', () => undefined);
    connections.push(redis);
    return redis;
  };
  await connect().ping();
  return {
    url: `redis://127.0.0.1:${port}`,
    connect,
    async stop() {
      for (const redis of connections) redis.disconnect();
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
