import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createLogSink, type LogSinkOptions } from '../../src/telemetry/log-sink.ts';
import { createLogger } from '../../src/telemetry/logger.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

/** Standard output that is a file. */
function openFile(): { readonly stream: Writable; readonly text: () => string } {
  const folder = mkdtempSync(join(tmpdir(), 'breakwater-log-'));
  const file = join(folder, 'log');
  const fd = openSync(file, 'a');
  cleanups.push(() => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  return { stream: Object.assign(new PassThrough(), { fd }), text: () => readFileSync(file, 'utf8') };
}

function openSink(stream: Writable, writeFile?: LogSinkOptions['writeFile']) {
  const lost: string[] = [];
  const resumed: number[] = [];
  const sink = createLogSink(stream, {
    onLost: (why) => lost.push(why),
    onResumed: (count) => resumed.push(count),
    ...(writeFile === undefined ? {} : { writeFile }),
  });
  return { sink, lost, resumed };
}

const LINE = `${'x'.repeat(1_023)}\n`;

test('on a disk that hangs no line waits; excess lines are dropped and counted', async () => {
  const { stream } = openFile();
  const hanging: (() => void)[] = [];
  const { sink, lost, resumed } = openSink(stream, (_fd, bytes, done) => {
    hanging.push(() => done(null, bytes.length));
  });
  for (let count = 0; count < 2_000; count++) sink.write(LINE);
  expect(hanging).toHaveLength(1);
  expect(new Set(lost)).toEqual(new Set(['full']));
  expect(lost.length).toBeGreaterThan(1_000);
  expect(lost.length).toBeLessThan(1_900);
  for (let end = hanging.shift(); end !== undefined; end = hanging.shift()) {
    end();
    await setImmediate();
  }
  expect(resumed).toEqual([lost.length]);
});

test('a file gets all lines in order, and flushing waits for them', async () => {
  const { stream, text } = openFile();
  const { sink, lost } = openSink(stream);
  const lines = Array.from(
    { length: 3_000 },
    (_, index) => `line ${index} of a log that is written to a file\n`,
  );
  for (const line of lines) sink.write(line);
  await sink.flush();
  expect(text()).toBe(lines.join(''));
  expect(lost).toEqual([]);
});

test('on a disk that fills up within a line, the line is dropped and the next one starts fresh', async () => {
  const { stream } = openFile();
  let written = '';
  let room = 1_500;
  const { sink, lost, resumed } = openSink(stream, (_fd, bytes, done) => {
    const taken = bytes.subarray(0, room);
    written += taken.toString();
    room -= taken.length;
    const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    queueMicrotask(() => (taken.length === 0 ? done(full, 0) : done(null, taken.length)));
  });
  for (let count = 0; count < 3; count++) {
    sink.write(LINE);
    await sink.flush();
  }
  expect(lost).toEqual(['failed', 'failed']);
  room = 10_000;
  sink.write('after\n');
  await sink.flush();
  expect(written.split('\n')).toEqual(['x'.repeat(1_023), 'x'.repeat(476), 'after', '']);
  expect(resumed).toEqual([2]);
});

test('a busy output is retried', async () => {
  const { stream, text } = openFile();
  let busy = 2;
  const { sink, lost } = openSink(stream, (fd, bytes, done) => {
    busy -= 1;
    if (busy >= 0) return queueMicrotask(() => done(Object.assign(new Error('busy'), { code: 'EAGAIN' }), 0));
    void import('node:fs').then(({ write }) => write(fd, bytes, done));
  });
  sink.write('once\n');
  // A flush waits for a second, which a busy machine may take.
  const flushed = async (): Promise<string> => {
    await sink.flush();
    return text();
  };
  await expect.poll(flushed).toBe('once\n');
  expect(lost).toEqual([]);
});

test('a pipe that nobody reads takes a bounded amount; when it is read again the log reports the number of missing lines', async () => {
  const stream = new PassThrough({ highWaterMark: 1024 });
  const lost: string[] = [];
  const logger = createLogger({ level: 'info', format: 'json', stream, onLost: (why) => lost.push(why) });
  const words = 'some words of a log '.repeat(50);
  for (let count = 0; count < 800; count++) logger.log('info', 'e', words);
  expect(stream.writableLength).toBeLessThan(700_000);
  expect(lost.length).toBeGreaterThan(100);
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text += String(chunk);
  });
  await logger.flush();
  const last = text.trimEnd().split('\n').at(-1) ?? '';
  expect(JSON.parse(last)).toMatchObject({ level: 'warn', event: 'logResumed', lost: lost.length });
});

test('a closed output drops lines, without any other effect', async () => {
  const stream = new PassThrough();
  const { sink, lost } = openSink(stream);
  stream.destroy(new Error('gone'));
  await setImmediate();
  sink.write('a\n');
  await sink.flush();
  expect(lost).toEqual(['failed']);
});
