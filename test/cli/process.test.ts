import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { abortOnSignals, stopReason } from '../../src/cli/signals.ts';
import { openScene } from '../daemon/scene.ts';
import { openDaemonWorld } from '../daemon/world.ts';
import { sliceOf } from '../support/slice.ts';

const FIXTURE = path.join(import.meta.dirname, 'fixtures/program.ts');
const COMPILED = path.join(import.meta.dirname, 'fixtures/compiled.ts');
const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');

interface Running {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  /** Everything on standard error, and the exit code (a number) or the signal (a name). */
  readonly ended: Promise<{ exit: number | NodeJS.Signals | null; stderr: string }>;
}

function start(script: string, args: readonly string[]): Running {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += String(chunk);
  });
  const ended = once(child, 'exit').then(([code, signal]) => ({
    exit: (code ?? signal) as number | NodeJS.Signals | null,
    stderr,
  }));
  return { child, ended };
}

describe('a real process', () => {
  it.each([
    { signal: 'SIGINT', exit: EXIT.interrupted },
    { signal: 'SIGTERM', exit: EXIT.terminated },
    { signal: 'SIGHUP', exit: EXIT.hangup },
  ] as const)('ends gracefully on $signal, with $exit', async ({ signal, exit }) => {
    const { child, ended } = start(FIXTURE, ['wait']);
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await ended).toEqual({ exit, stderr: '' });
  });

  it('that ignores the signal is ended by a second Ctrl-C', async () => {
    const { child, ended } = start(FIXTURE, ['hang']);
    await once(child.stdout, 'data');
    // Pressed repeatedly until the process ends.
    const pressing = setInterval(() => child.kill('SIGINT'), 100);
    expect(await ended).toEqual({ exit: EXIT.interrupted, stderr: '' });
    clearInterval(pressing);
  });

  it('opens no debugger on SIGUSR1, and goes on', async () => {
    const { child, ended } = start(FIXTURE, ['wait']);
    await once(child.stdout, 'data');
    child.kill('SIGUSR1');
    await expect(fetch('http://127.0.0.1:9229/json/version')).rejects.toThrow('fetch failed');
    child.kill('SIGTERM');
    expect(await ended).toEqual({ exit: EXIT.terminated, stderr: '' });
  });

  it('ends quietly with 0 when its reader goes away', async () => {
    const { child, ended } = start(FIXTURE, ['chatter']);
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await ended).toEqual({ exit: EXIT.ok, stderr: '' });
  });

  it('that crashes outside of any awaited promise says so in one line, with 70', async () => {
    const { ended } = start(FIXTURE, ['crash']);
    const { exit, stderr } = await ended;
    expect(exit).toBe(EXIT.bug);
    expect(stderr).toMatch(/^breakwater: this is a defect in Breakwater: out of the blue\. .*\n$/);
  });

  it('breakwater --version prints the version', async () => {
    const { child, ended } = start(MAIN, ['--version']);
    const [output] = (await once(child.stdout, 'data')) as [Buffer];
    expect(String(output)).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await ended).toEqual({ exit: EXIT.ok, stderr: '' });
  });
});

/**
 * In a daemon the code that acts may run for the first time in an emergency. WebAssembly validates the exchange's
 * replies, and gains nothing from a second compilation.
 */
describe('V8 compiles', () => {
  const eagerly = ['--wasm-tiering-budget=1', '--wasm-sync-tier-up'];
  const preload = ['--allow-natives-syntax', ...eagerly, '--import', COMPILED];
  const said = (firstCall: boolean, optimized: boolean): readonly string[] => [
    `compiled with its first call: ${firstCall}`,
    `WebAssembly optimized: ${optimized}`,
  ];

  async function ends(
    child: ChildProcess,
  ): Promise<{ readonly code: number; readonly lastLines: readonly string[] }> {
    let [stdout, stderr] = ['', ''];
    child.stdout?.on('data', (chunk: Buffer) => {
      stdout += String(chunk);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      stderr += String(chunk);
    });
    const [code] = (await once(child, 'close')) as [number];
    expect(stderr).not.toContain('unrecognized flag');
    return { code, lastLines: stdout.trimEnd().split('\n').slice(-2) };
  }

  const ways = [
    { command: ['demo', '--redis'], forLong: true },
    { command: ['check', '/nonexistent.yaml'], forLong: false },
  ];
  it.each(sliceOf(ways, 2, 'commands'))(
    'at the first call if it runs for long ($forLong), WebAssembly only once: $command.0',
    async ({ command, forLong }) => {
      // Without a PATH no Redis server is found, and the demo ends at once.
      const { code, lastLines } = await ends(
        spawn(process.execPath, [...preload, MAIN, ...command], { env: {} }),
      );
      expect(code).not.toBe(0);
      expect(lastLines).toEqual(said(forLong, !forLong));
    },
  );

  it('at the first call, and WebAssembly only once, in a daemon that watches', async () => {
    const rules =
      '  - { id: never, on: position, when: { markPrice: { below: 1 } }, do: [{ notify: {} }] }\n';
    const parts = { accounts: { long: { rules: ['never'] } }, rules };
    const { configFile, env } = await openDaemonWorld(await openScene(), parts);
    const args = [...preload, MAIN, 'run', '--config', configFile];
    const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
    const ended = ends(child);
    child.stderr.on('data', (chunk: Buffer) => void (String(chunk).includes('watching ') && child.kill()));
    expect((await ended).lastLines).toEqual(said(true, false));
  });
});

describe('one press of Ctrl-C that is delivered twice', () => {
  it('counts once; a later one ends the process', () => {
    const exits: number[] = [];
    const source = Object.assign(new EventEmitter(), { exit: (code: number) => exits.push(code) });
    const controller = new AbortController();
    let nowMs = 1_000;
    void abortOnSignals(source, controller, { nowMs: () => nowMs });
    source.emit('SIGINT');
    nowMs += 30;
    source.emit('SIGINT');
    expect(stopReason(controller.signal)?.exitCode).toBe(EXIT.interrupted);
    expect(exits).toEqual([]);
    nowMs += 1_000;
    source.emit('SIGTERM');
    expect(exits).toEqual([EXIT.terminated]);
  });

  it('counts once under npm, however late the second delivery is', async () => {
    const exits: number[] = [];
    const source = Object.assign(new EventEmitter(), { exit: (code: number) => exits.push(code) });
    const controller = new AbortController();
    let nowMs = 1_000;
    const echo = abortOnSignals(source, controller, { nowMs: () => nowMs, isEchoed: true });
    source.emit('SIGINT');
    nowMs += 4_000;
    source.emit('SIGINT');
    await echo;
    expect(exits).toEqual([]);
    nowMs += 10;
    source.emit('SIGINT');
    expect(exits).toEqual([EXIT.interrupted]);
  });
});
