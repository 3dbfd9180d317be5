import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeAfterTest } from '../contract/support/world.ts';

/** A receiver of notices. */
export interface Receiver {
  readonly url: string;
  /** What it was sent. */
  readonly bodies: string[];
  /** What it answers. */
  status: number;
}

/** It is closed after the test. */
export async function openReceiver(): Promise<Receiver> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    request.setEncoding('utf8');
    let body = '';
    request.on('data', (part: string) => (body += part));
    request.on('end', () => {
      bodies.push(body);
      response.statusCode = receiver.status;
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = { url: `http://127.0.0.1:${port}/`, bodies, status: 200 };
  return receiver;
}
