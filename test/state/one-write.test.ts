import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { inOneWrite } from '../../src/state/one-write.ts';

function connection() {
  const writes: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      writes.push(String(chunk));
      done();
    },
    writev(chunks, done) {
      writes.push(chunks.map(({ chunk }) => String(chunk)).join(' '));
      done();
    },
  });
  const redis = { stream } as unknown as Redis;
  const send = (text: string) => {
    inOneWrite(redis);
    stream.write(text);
  };
  return { writes, send };
}

test('what one turn sends goes out together and in order, and the next turn does not wait for it', async () => {
  const { writes, send } = connection();
  send('a');
  send('b');
  await Promise.resolve();
  send('c');
  expect(writes).toEqual([]);
  await setImmediate();
  expect(writes).toEqual(['a b c']);
  send('d');
  await setImmediate();
  expect(writes).toEqual(['a b c', 'd']);
});

test('connections do not wait for each other, and before there is one nothing is held', async () => {
  const [one, other] = [connection(), connection()];
  one.send('a');
  other.send('b');
  inOneWrite({ stream: undefined } as unknown as Redis);
  await setImmediate();
  expect([one.writes, other.writes]).toEqual([['a'], ['b']]);
});
