import { type Command, InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import type { RegisterCommand } from '../../src/cli/commands.ts';
import { CliError } from '../../src/cli/errors.ts';
import { EXIT, EXIT_MEANING } from '../../src/cli/exit-codes.ts';
import { withExamples, withJson } from '../../src/cli/help.ts';
import { type CliIo, confirm, paint, printJson, printLine } from '../../src/cli/io.ts';
import { ctrlC, runCommandLine } from '../support/cli.ts';

type Action = (io: CliIo, options: Record<string, unknown>) => Promise<void> | void;

function command(action: Action): RegisterCommand {
  return (program: Command, io: CliIo) => {
    const sail = program
      .command('sail')
      .description('leave the harbour')
      .option('--knots <n>', 'speed', knots);
    withJson(sail).action((options: Record<string, unknown>) => action(io, options));
    withExamples(sail, { 'leave slowly': 'sail --knots 5' });
  };
}

function knots(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}

function sail(args: readonly string[], action: Action = () => undefined, tty = false) {
  return runCommandLine(args, { commands: [command(action)], tty });
}

describe('help', () => {
  it('goes to standard output with the commands, and exit code 0', async () => {
    const run = await sail(['--help']);
    expect(run).toMatchObject({ exitCode: EXIT.ok, stderr: '' });
    expect(run.stdout).toMatch(/sail .*leave the harbour/);
  });

  it('documents every exit code', async () => {
    const { stdout } = await sail(['--help']);
    for (const [name, code] of Object.entries(EXIT)) {
      expect(stdout).toContain(`  ${String(code).padEnd(4)} ${EXIT_MEANING[name as keyof typeof EXIT]}`);
    }
  });

  it('of a command shows its examples', async () => {
    const run = await sail(['sail', '--help']);
    expect(run.stdout).toContain('$ breakwater sail --knots 5');
    expect(run.exitCode).toBe(EXIT.ok);
  });

  it('answers an empty command line, on standard error because nothing was done', async () => {
    const run = await sail([]);
    expect(run).toMatchObject({ exitCode: EXIT.usage, stdout: '' });
    expect(run.stderr).toContain('Usage: breakwater');
  });
});

describe('a wrong command line', () => {
  it.each([
    {
      args: ['sial'],
      says: /^breakwater: unknown command 'sial'\. Did you mean sail\? See: breakwater --help\n$/,
    },
    {
      args: ['sail', '--knot', '3'],
      says: /^breakwater: unknown option '--knot'\. Did you mean --knots\? See: breakwater sail --help\n$/,
    },
    {
      args: ['sail', 'away'],
      says: /^breakwater: too many arguments .*away.*See: breakwater sail --help\n$/,
    },
    {
      args: ['sail', '--knots', 'x'],
      says: /^breakwater: option '--knots <n>' .*'x'.*Expected a whole number\./,
    },
    { args: ['sail', '--knots'], says: /^breakwater: option '--knots <n>' argument missing\./ },
  ])('$args is one line with a cure, and exit code 2', async ({ args, says }) => {
    let acted = false;
    const run = await sail(args, () => {
      acted = true;
    });
    expect(run.stderr).toMatch(says);
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(run).toMatchObject({ exitCode: EXIT.usage, stdout: '' });
    expect(acted).toBe(false);
  });
});

describe('an error in a command', () => {
  it('that was expected is one line with its cure, without a stack', async () => {
    const run = await sail(['sail'], () => {
      throw new CliError('no-wind', 'there is no\nwind.', { cure: 'Wait.' });
    });
    expect(run).toEqual({
      exitCode: EXIT.failed,
      stdout: '',
      stderr: 'breakwater: there is no wind. Wait.\n',
    });
  });

  it('shows its stack and causes with --debug, before or after the command', async () => {
    const action = () => {
      throw new CliError('no-wind', 'there is no wind.', { cause: new TypeError('calm') });
    };
    for (const args of [
      ['--debug', 'sail'],
      ['sail', '--debug'],
    ]) {
      const { stderr } = await sail(args, action);
      expect(stderr).toMatch(/CliError: there is no wind\.\n +at .*\n[^]*caused by: TypeError: calm\n +at /);
    }
  });

  it('that was not expected is called a defect, exit code 70', async () => {
    const run = await sail(['sail'], () => {
      throw new TypeError('undefined is not a sail');
    });
    expect(run.exitCode).toBe(EXIT.bug);
    expect(run.stderr).toMatch(/^breakwater: this is a defect .*undefined is not a sail.*--debug.*\n$/);
  });

  it('of the system, such as a port in use, is a failure, not a defect', async () => {
    const run = await sail(['sail'], () => {
      throw Object.assign(new Error('listen EADDRINUSE: address already in use'), { code: 'EADDRINUSE' });
    });
    expect(run).toMatchObject({ exitCode: EXIT.failed });
    expect(run.stderr).toBe('breakwater: listen EADDRINUSE: address already in use\n');
  });

  it('is JSON on standard error with --json', async () => {
    const run = await sail(['sail', '--json'], () => {
      throw new CliError('no-wind', 'there is no wind.', { cure: 'Wait.' });
    });
    expect(JSON.parse(run.stderr)).toEqual({
      error: { code: 'no-wind', message: 'there is no wind.', cure: 'Wait.' },
    });
  });

  it('is JSON also for a wrong command line', async () => {
    const run = await sail(['sail', '--json', '--knot', '1']);
    expect(JSON.parse(run.stderr)).toMatchObject({ error: { code: 'usage' } });
    expect(run.exitCode).toBe(EXIT.usage);
  });
});

describe('the end of a command', () => {
  it('by Ctrl-C is a silent 130 when the command throws the abort reason', async () => {
    const controller = new AbortController();
    const run = await runCommandLine(['sail'], {
      signal: controller.signal,
      commands: [
        command((io) => {
          controller.abort(ctrlC());
          io.signal.throwIfAborted();
        }),
      ],
    });
    expect(run).toEqual({ exitCode: EXIT.interrupted, stdout: '', stderr: '' });
  });

  it('by Ctrl-C is 130 when the command returns normally, unless it sets another code', async () => {
    for (const [choice, expected] of [
      [undefined, EXIT.interrupted],
      [EXIT.ok, EXIT.ok],
    ] as const) {
      const controller = new AbortController();
      const { exitCode } = await runCommandLine(['sail'], {
        signal: controller.signal,
        commands: [
          command((io) => {
            controller.abort(ctrlC());
            if (choice !== undefined) io.setExitCode(choice);
          }),
        ],
      });
      expect(exitCode).toBe(expected);
    }
  });

  it('by its own error keeps that error, also after Ctrl-C', async () => {
    const controller = new AbortController();
    const { exitCode, stderr } = await runCommandLine(['sail'], {
      signal: controller.signal,
      commands: [
        command(() => {
          controller.abort(ctrlC());
          throw new CliError('aground', 'ran aground.');
        }),
      ],
    });
    expect(exitCode).toBe(EXIT.failed);
    expect(stderr).toBe('breakwater: ran aground.\n');
  });
});

describe('output', () => {
  it('with --json is one value per line', async () => {
    const run = await sail(['sail', '--json'], (io) => {
      printJson(io, { a: 'x\ny' });
      printJson(io, 2);
    });
    expect(
      run.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([{ a: 'x\ny' }, 2]);
  });

  it.each([
    { tty: true, env: {}, coloured: true },
    { tty: false, env: {}, coloured: false },
    { tty: true, env: { NO_COLOR: '1' }, coloured: false },
    { tty: true, env: { NO_COLOR: '' }, coloured: true },
    { tty: true, env: { TERM: 'dumb' }, coloured: false },
    { tty: false, env: { FORCE_COLOR: '1' }, coloured: true },
    { tty: true, env: { FORCE_COLOR: '0' }, coloured: false },
    { tty: true, env: { NO_COLOR: '1', FORCE_COLOR: '1' }, coloured: false },
  ])('has colours: $coloured on a terminal: $tty with $env', async ({ tty, env, coloured }) => {
    const commands = [command((io) => printLine(io, paint(io, 'stdout', 'red', 'port')))];
    const run = await runCommandLine(['sail'], { commands, tty, env });
    expect(run.stdout).toBe(coloured ? '\u001B[31mport\u001B[39m\n' : 'port\n');
    const help = await runCommandLine(['--help'], { commands, tty, env });
    expect(help.stdout.includes('\u001B[')).toBe(coloured);
  });
});

describe('a question', () => {
  const ask: Action = async (io) => {
    await confirm(io, 'Sink it?', 'it is afloat');
    printLine(io, 'sunk');
  };

  it.each([
    { input: 'y\n', answer: 'yes' },
    { input: 'YES\n', answer: 'yes' },
    { input: '\n', answer: 'no' },
    { input: '', answer: 'no' },
    { input: 'yeah, no\n', answer: 'no' },
  ])('is answered $answer by $input', async ({ input, answer }) => {
    const run = await runCommandLine(['sail'], {
      commands: [command(ask)],
      tty: true,
      input,
      env: { NO_COLOR: '1' },
    });
    expect(run.stdout).toBe(answer === 'yes' ? 'sunk\n' : '');
    expect(run.exitCode).toBe(answer === 'yes' ? EXIT.ok : EXIT.failed);
    expect(run.stderr).toContain('Sink it? [y/N]');
    expect(run.stderr.includes('not confirmed: it is afloat.')).toBe(answer === 'no');
  });

  it('is refused when nobody can answer, instead of waiting forever', async () => {
    const run = await runCommandLine(['sail'], { commands: [command(ask)] });
    expect(run.exitCode).toBe(EXIT.usage);
    expect(run.stderr).toContain('Add --yes.');
  });
});
