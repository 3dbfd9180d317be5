import { expect, test } from 'vitest';
import { createLogChannel } from '../../src/notify/log-channel.ts';
import { outgoing } from './opened.ts';
import { message } from './receiver.ts';

test('a name of a file can be searched for in the log: nothing invisible is in it', async () => {
  const written: string[] = [];
  const channel = createLogChannel(({ text }) => written.push(text));
  await channel.send(outgoing({ message: message({ words: 'see breakwater.yaml:6:7' }) }));
  expect(written).toEqual([expect.stringContaining('See breakwater.yaml:6:7')]);
});
