import { createWriteStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapCodeStatistics } from 'node:v8';
import { runDaemon } from '../../src/app.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import type { DaemonAnswer, DaemonQuestion } from './messages.ts';

/** The daemon of a soak, composed as `breakwater run` composes it, in a process that reports its memory. */
const [configFile = ''] = process.argv.slice(2);

let evaluated = 0;
let failed = 0;

const send = (message: DaemonAnswer): void => void process.send?.(message);

/** Stores nothing, because stored events would be measured. */
function hear(event: DaemonEvent): void {
  if (event.kind === 'evaluated') evaluated += 1;
  else if (event.kind === 'pollFailed') failed += 1;
  else if (event.kind === 'notice') send({ kind: 'handed', id: event.notice.id });
  else if (event.kind === 'delivered') {
    const { message, report } = event;
    if (report.type === 'log') return;
    const { kind } = report.delivery;
    if (kind === 'superseded') send({ kind, id: message.id });
    else if (kind === 'failed') send({ kind: 'failed', id: message.id, why: JSON.stringify(report) });
  }
}

const daemon = await runDaemon({
  configFile,
  env: process.env,
  log: { stream: createWriteStream('/dev/null'), isTerminal: false, colours: false },
  telemetry: [{ emit: hear }],
});

async function sample(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('it has to run with --expose-gc');
  await globalThis.gc({ execution: 'async' });
  // Finalizers run in between.
  await sleep(200);
  await globalThis.gc({ execution: 'async' });
  const { heapUsed, rss } = process.memoryUsage();
  const { bytecode_and_metadata_size: bytecode, code_and_metadata_size: machineCode } =
    getHeapCodeStatistics();
  const { user, system } = process.cpuUsage();
  send({
    kind: 'sample',
    heapBytes: heapUsed,
    codeBytes: bytecode + machineCode,
    residentBytes: rss,
    descriptors: (await readdir('/proc/self/fd')).length,
    evaluated,
    failed,
    cpuMs: (user + system) / 1_000,
  });
}

process.on('message', (question: DaemonQuestion) => {
  if (question === 'sample') void sample();
  else
    void daemon.stop('the soak is over', 20_000).then((inTime) => {
      send({ kind: 'stopped', inTime });
      process.disconnect();
    });
});
// The parent is gone.
process.once('disconnect', () => setTimeout(() => process.exit(1), 30_000).unref());

send({ kind: 'watching' });
