import { createServer } from 'node:http';
import { loanReply, positionsReply } from './replies.ts';

/**
 * A process that answers every request with three positions, or a loan, as fast as it can. Prints its port. Ends when
 * its input ends, so it never outlives its parent.
 */
const positions = Buffer.from(positionsReply(3));
const loan = Buffer.from(loanReply());
const server = createServer((request, response) => {
  const body = request.url?.includes('/credit-line/') === true ? loan : positions;
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
    response.end(body);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`);
});
process.stdin.resume();
process.stdin.on('end', () => {
  server.close();
  server.closeAllConnections();
});
