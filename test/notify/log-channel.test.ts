import { expect, test } from 'vitest';
import { createLogChannel } from '../../src/notify/log-channel.ts';
import { outgoing } from './opened.ts';
import { message } from './receiver.ts';

test('a file name can be searched for in the log: no invisible characters are in it', async () => {
  const written: string[] = [];
  const channel = createLogChannel(({ text }) => written.push(text));
  await channel.send(outgoing({ message: message({ words: 'see breakwater.yaml:6:7' }) }));
  expect(written).toEqual([expect.stringContaining('See breakwater.yaml:6:7')]);
});
