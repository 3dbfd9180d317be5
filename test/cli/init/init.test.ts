import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { RULE_SETS } from '../../../src/cli/init/flags.ts';
import { channelKeys } from '../../../src/config/channel-keys.ts';
import { CHANNELS, type ChannelType } from '../../../src/config/channels.ts';
import { POSITION_SETS } from '../../../src/config/rules/fitting-set.ts';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../../src/simulator/start-simulated-exchange.ts';
import { ctrlC, runCommandLine } from '../../support/cli.ts';
import { runAtTerminal } from './typing.ts';

let exchange: RunningSimulator;
beforeAll(async () => {
  exchange = await startSimulatedExchange({ seed: 3, accounts: 5, speed: 0 });
});
afterAll(() => exchange.close());

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-init-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const config = () => path.join(folder, 'breakwater.yaml');
const keysOf = (index: number) => exchange.accounts[index] ?? expect.fail('no account');

/** Options of a script for one of the simulator's accounts. */
async function optionsFor(index: number, changes: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const { apiKey, apiSecret } = keysOf(index);
  await writeFile(path.join(folder, 'key'), `${apiKey}\n`, { mode: 0o600 });
  await writeFile(path.join(folder, 'secret'), `${apiSecret}\n`, { mode: 0o600 });
  const options = {
    '--out': config(),
    '--exchange': exchange.baseUrl,
    '--account': 'desk-1',
    '--key-file': path.join(folder, 'key'),
    '--secret-file': path.join(folder, 'secret'),
    '--leverage': '10',
    ...changes,
  };
  return Object.entries(options)
    .filter(([, value]) => value !== '')
    .flat();
}

interface Decided {
  readonly positions: readonly object[] | null;
  readonly markets: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly account: { readonly rules: readonly string[] };
  readonly ruleSet: { readonly name: string; readonly fits: boolean; readonly measured: object };
  readonly check: { readonly ok: boolean; readonly problems: readonly string[] };
  readonly warnings: readonly string[];
}

async function initJson(args: readonly string[]): Promise<Decided> {
  const { exitCode, stdout, stderr } = await runCommandLine(['init', '--json', ...args]);
  expect({ exitCode, stderr }).toEqual({ exitCode: EXIT.ok, stderr: '' });
  return JSON.parse(stdout) as Decided;
}

describe('breakwater init, for a script', () => {
  test("writes a config that check accepts, from the account's holdings", async () => {
    const decided = await initJson(await optionsFor(0));
    expect(decided).toMatchObject({
      mode: 'observe',
      positions: [{ market: 'BTC_PERP', direction: 'long', amount: '0.5' }],
      leverageNow: expect.closeTo(7.5, 1) as number,
      markets: {
        BTC_PERP: {
          amountStep: { value: '0.1', from: 'the amount 0.5' },
          priceStep: { value: '0.1' },
          maintenanceMargin: { value: '3%' },
          money: 'USDT',
        },
      },
      marketsConfirmed: false,
      account: { rules: ['balanced', 'circuit-breaker/blind'] },
      ruleSet: { name: 'balanced', fits: true, mostLeverage: 10 },
      check: { ok: true, errors: 0 },
    });
    expect(decided.warnings).toEqual([expect.stringContaining('parts of 20.0 %')]);
    const text = await readFile(config(), 'utf8');
    expect(text).toContain('\nmode: observe\n');
    expect(text).toMatch(/amountStep: 0\.1 # from the amount 0\.5\n/);
    expect(text.match(/#/g)?.length).toBeGreaterThan(20);
    const checked = await runCommandLine(['check', config(), '--json']);
    expect([checked.exitCode, JSON.parse(checked.stdout)]).toMatchObject([EXIT.ok, { errors: 0 }]);
    const watched = ['market-without-entry', 'cancels-owners-orders'];
    const { problems } = JSON.parse(checked.stdout) as { problems: { code: string }[] };
    expect(problems.map(({ code }) => code)).toEqual(watched);
  });

  test('sets up an operators key and a control token, so that approve and flatten work', async () => {
    const decided = await initJson(await optionsFor(0, { '--redis': 'redis://127.0.0.1:1' }));
    const key = path.join(folder, 'operators.key');
    const token = path.join(folder, 'web-control.secret');
    expect(decided).toMatchObject({
      operators: { key: { file: 'operators.key' } },
      // The daemon asks for this token when somebody pauses it while Redis is lost.
      web: { controlToken: { file: 'web-control.secret' } },
      files: [key, token, config()],
    });
    for (const file of [key, token]) expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(token, 'utf8')).not.toBe(await readFile(key, 'utf8'));
    const secret = (await readFile(key, 'utf8')).trim();
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(await readFile(config(), 'utf8')).toMatch(/\noperators:\n {2}key: \{ file: operators\.key \}\n/);
    const doctor = await runCommandLine(['doctor', '--config', config(), '--json']);
    const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; status: string }[] };
    expect(checks).toContainEqual(expect.objectContaining({ name: 'operators', status: 'passed' }));
    // The daemons of a second config need the same key, or one would not obey what the other does.
    const again = await initJson(await optionsFor(0, { '--out': path.join(folder, 'second.yaml') }));
    expect(again).toMatchObject({ files: [path.join(folder, 'second.yaml')] });
    expect((await readFile(key, 'utf8')).trim()).toBe(secret);
    await writeFile(key, 'too short', { mode: 0o600 });
    const short = await runCommandLine([
      'init',
      ...(await optionsFor(0, { '--out': path.join(folder, 'third.yaml') })),
    ]);
    expect([short.exitCode, short.stderr]).toEqual([EXIT.failed, expect.stringContaining('operators.key')]);
  });

  test('doctor finds nothing wrong except a Redis that is not there', async () => {
    await initJson(await optionsFor(0, { '--redis': 'redis://127.0.0.1:1' }));
    const { stdout } = await runCommandLine(['doctor', '--config', config(), '--json']);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] };
    expect(checks.filter(({ status }) => status === 'failed').map(({ name }) => name)).toEqual(['redis']);
    const passed = checks.filter(({ status }) => status === 'passed').map(({ name }) => name);
    expect(passed).toEqual(expect.arrayContaining(['secrets', 'credentials', 'nonce', 'markets']));
  });

  test('handles hedge mode, a credit line, and a margin position', async () => {
    const hedged = await initJson(await optionsFor(2));
    expect(Object.keys(hedged.markets)).toEqual(['BTC_PERP']);
    await rm(config());
    const borrower = await initJson(await optionsFor(3));
    expect(borrower.account.rules).toEqual(['balanced', 'circuit-breaker/blind', 'credit-line']);
    await rm(config());
    const margin = await initJson(await optionsFor(4));
    expect(margin.markets).toMatchObject({
      // The order history has a smaller amount than the position.
      BTC_USDT: { amountStep: { value: '0.001' }, money: null },
      ETH_PERP: { amountStep: { value: '1' }, priceStep: { value: '0.01' } },
    });
  });

  test('proposes the rule set made for the leverage, and warns if there is none', async () => {
    const nameAt = async (leverage: string) => {
      await rm(config(), { force: true });
      const { ruleSet, warnings } = await initJson(await optionsFor(3, { '--leverage': leverage }));
      return [ruleSet.name, ruleSet.fits, warnings.some((text) => text.includes('is made for up to'))];
    };
    expect(await nameAt('5')).toEqual(['conservative', true, false]);
    expect(await nameAt('5.1x')).toEqual(['balanced', true, false]);
    expect(await nameAt('10')).toEqual(['balanced', true, false]);
    expect(await nameAt('20')).toEqual(['last-resort', false, true]);
    expect(await readFile(config(), 'utf8')).toContain('# No set is made for 20x');
    await rm(config());
    const chosen = await initJson([...(await optionsFor(3)), '--rule-set', 'last-resort']);
    expect(chosen.ruleSet).toMatchObject({
      name: 'last-resort',
      fits: true,
      measured: { falseActions: 16 },
    });
  });

  test('warns of an account above the given leverage', async () => {
    const { warnings } = await initJson(await optionsFor(0, { '--leverage': '3' }));
    expect(warnings.join()).toContain('is at 7.5x now, above the 3x');
  });

  test('names the variables of key and secret, and the files of a channel', async () => {
    const { apiKey, apiSecret } = keysOf(0);
    await mkdir(path.join(folder, 'deep'));
    await writeFile(path.join(folder, 'hook'), 'https://hooks.example/T0/B0', { mode: 0o600 });
    const args = await optionsFor(0, { '--key-file': '', '--secret-file': '' });
    const out = path.join(folder, 'deep', 'own.yaml');
    const env = { KEY_1: apiKey, SECRET_1: apiSecret };
    const more = ['--key-env', 'KEY_1', '--secret-env', 'SECRET_1', '--out', out, '--cancel', 'never'];
    const channel = [
      '--channel',
      `slack,url=file:${path.relative(process.cwd(), path.join(folder, 'hook'))}`,
    ];
    const run = await runCommandLine(['init', ...args, ...more, ...channel, '--json'], { env });
    expect({ ...run, stdout: JSON.parse(run.stdout) as object }).toMatchObject({
      exitCode: EXIT.ok,
      stdout: {
        account: { apiKey: { env: 'KEY_1' }, apiSecret: { env: 'SECRET_1' } },
        channel: { type: 'slack', url: { file: '../hook' } },
        cancel: 'never',
        check: { problems: [expect.stringContaining('got only BTC_PERP')] },
      },
    });
    expect(await readFile(out, 'utf8')).not.toContain(apiKey);
  });

  test('offline: writes without any request, and says what is left to do', async () => {
    const args = await optionsFor(0, {
      '--key-file': '',
      '--secret-file': '',
      '--exchange': 'https://x.example',
    });
    const more = ['--key-env', 'NOT_HERE', '--secret-env', 'NOR_THIS', '--offline'];
    const decided = await initJson([...args, ...more]);
    expect(decided).toMatchObject({ positions: null, markets: {}, check: { ok: true } });
    expect(decided.warnings.join()).toContain('was not asked');
  });
});

test('warns that the secret of a channel is not at hand', async () => {
  const args = ['init', ...(await optionsFor(0)), '--channel', 'slack,url=env:NOPE'];
  const { exitCode, stderr } = await runCommandLine(args);
  expect(exitCode).toBe(EXIT.ok);
  expect(stderr).toMatch(/breakwater\.yaml:\d+:\d+ \S+: warning: .*environment variable NOPE/);
});

describe('init offers what the config knows', () => {
  test('its rule sets', () => {
    expect(RULE_SETS).toEqual(POSITION_SETS);
  });

  test('every channel type, with its required keys', async () => {
    const examples: Readonly<Record<string, string>> = {
      chat: '-1001234567890',
      urls: 'http://127.0.0.1:9093',
      server: 'https://ntfy.example',
      api: 'https://api.example',
      from: 'breakwater@desk.example',
      to: 'ann@desk.example',
      user: 'desk',
      'email.server': 'smtps://mail.example:465',
      'telegram.topic': '5',
      timeout: '5s',
      giveUpAfter: '1m',
    };
    for (const type of Object.keys(CHANNELS) as ChannelType[]) {
      const keys = Object.entries(channelKeys(type)).filter(([, { kind }]) => kind !== 'list');
      for (const chosen of [keys.filter(([, { isNeeded }]) => isNeeded), keys]) {
        const settings = chosen.map(
          ([key]) => `${key}=${examples[`${type}.${key}`] ?? examples[key] ?? `env:${key.toUpperCase()}`}`,
        );
        await rm(config(), { force: true });
        const args = [...(await optionsFor(0)), '--offline', '--channel', [type, ...settings].join(',')];
        expect(await initJson(args)).toMatchObject({ channel: { type }, check: { ok: true } });
      }
    }
  });

  test('names that YAML would read differently are quoted', async () => {
    const odd = path.join(folder, 'a b: {#}.key');
    await writeFile(odd, keysOf(0).apiKey, { mode: 0o600 });
    for (const account of ['1e5', 'null.', 'a']) {
      const out = path.join(folder, `${account}.yaml`);
      const args = await optionsFor(0, { '--out': out, '--account': account, '--key-file': odd });
      const { exitCode, stdout } = await runCommandLine(['init', '--json', ...args]);
      expect(exitCode).toBe(EXIT.ok);
      expect(JSON.parse(stdout)).toMatchObject({ check: { errors: 0, warnings: 2 } });
    }
  });
});

describe('breakwater init refuses', () => {
  async function refused(args: readonly string[], env: Record<string, string> = {}) {
    const before = await readdir(folder);
    const { exitCode, stdout, stderr } = await runCommandLine(['init', '--json', ...args], { env });
    expect(stdout).toBe('');
    expect(await readdir(folder)).toEqual(before);
    return { exitCode, ...(JSON.parse(stderr) as { error: object }).error } as Record<string, unknown>;
  }

  test('to overwrite a file', async () => {
    const args = await optionsFor(0);
    await writeFile(config(), 'mine');
    expect(await refused(args)).toMatchObject({ exitCode: EXIT.failed, code: 'file-exists' });
    expect(await readFile(config(), 'utf8')).toBe('mine');
  });

  test('what check would refuse for want of operators.key', async () => {
    const channel = 'telegram,token=env:TOKEN,chat=1,commands=[{chat: "1"}]';
    const { exitCode, message } = await refused([...(await optionsFor(0)), '--channel', channel]);
    expect(exitCode).toBe(EXIT.usage);
    expect(message).toContain('--channel telegram: commands is a list, which init does not write.');
  });

  test('a script with missing options, and names all of them', async () => {
    const { exitCode, message } = await refused(['--out', config()]);
    expect(exitCode).toBe(EXIT.usage);
    for (const flag of ['--exchange', '--account', '--key-file', '--secret-env', '--leverage']) {
      expect(message).toContain(flag);
    }
    const all = await optionsFor(0, { '--leverage': '' });
    expect(await refused(all)).toMatchObject({ message: 'missing: --leverage NUMBER.' });
  });

  test.each([
    [EXIT.usage, ['--key=s3cr3t']],
    [EXIT.usage, ['--secret', 's3cr3t']],
    [EXIT.usage, ['--api-key', 's3cr3t']],
    [EXIT.usage, ['--exchange', 'https://me:s3cr3t@x.example']],
    [EXIT.usage, ['--redis', 'redis://:s3cr3t@127.0.0.1']],
    [EXIT.usage, ['--channel', 'slack,url=https://hooks.example/s3cr3t']],
    [EXIT.usage, ['--channel', 'slack,s3cr3t']],
    // An address may stand in the config, but not with a password: the check of the config says so.
    [EXIT.failed, ['--channel', 'webhook,url=https://me:s3cr3t@x.example']],
    [EXIT.usage, ['--secret-env', 's3cr3t-0123456789abcdef']],
  ])('a secret on the command line, without repeating it: %s %s', async (exitCode, args) => {
    const options = await optionsFor(0, args[0] === '--secret-env' ? { '--secret-file': '' } : {});
    const error = await refused([...options, ...args]);
    expect(JSON.stringify(error)).not.toContain('s3cr3t');
    expect(error).toMatchObject({ exitCode });
  });

  test('keys that the exchange refuses', async () => {
    const args = await optionsFor(0);
    await writeFile(path.join(folder, 'secret'), 'another');
    expect(await refused(args)).toMatchObject({
      exitCode: EXIT.failed,
      code: 'unauthenticated',
      cure: expect.stringContaining('--offline') as string,
    });
  });

  test('a secret that is not at hand', async () => {
    const args = await optionsFor(0, { '--secret-file': '' });
    expect(await refused([...args, '--secret-env', 'NOT_HERE'])).toMatchObject({ code: 'secret-missing' });
    expect(await refused([...args, '--secret-file', path.join(folder, 'none')])).toMatchObject({
      code: 'file-unreadable',
    });
    await writeFile(path.join(folder, 'empty'), '\n');
    expect(await refused([...args, '--secret-file', path.join(folder, 'empty')])).toMatchObject({
      code: 'secret-missing',
    });
  });

  test('an unknown channel, or one with missing settings', async () => {
    const args = await optionsFor(0);
    for (const [channel, message] of [
      ['smoke', 'expected one of'],
      ['slack', 'missing url'],
      ['telegram,token=env:T', 'missing chat'],
      ['slack,address=env:T', 'KEY=VALUE, with one of url'],
    ] as const) {
      expect(await refused([...args, '--channel', channel])).toMatchObject({
        exitCode: EXIT.usage,
        message: expect.stringContaining(message) as string,
      });
    }
  });

  test('a missing folder', async () => {
    const args = await optionsFor(0, { '--out': path.join(folder, 'none', 'b.yaml') });
    expect(await refused(args)).toMatchObject({ code: 'file-unwritable' });
  });
});

describe('breakwater init, at a terminal', () => {
  const HOOK = 'https://hooks.example/T0/B0/s3cr3t';

  test('asks for what is missing, hides secrets, and keeps them in separate files', async () => {
    const { apiKey, apiSecret } = keysOf(0);
    const run = await runAtTerminal(
      ['init', '--out', config()],
      [
        ['Address of the exchange', 'exchange.example\n'],
        ['Expected an http', `${exchange.baseUrl}/\n`],
        ['Name of the account', 'my desk\n'],
        ['Expected letters', '\n'],
        ['API key', `${apiKey}\n`],
        ['API secret', `${apiSecret}\n`],
        ['yes, correct or later', 'c\n'],
        ['BTC_PERP amountStep [0.1]', '0,001\n'],
        ['Expected a positive decimal', '0.001\n'],
        ['BTC_PERP priceStep [0.1]', '\n'],
        ['BTC_PERP minAmount [0.001]', '\n'],
        ['BTC_PERP maintenanceMargin [3%]', '2.5 %\n'],
        ['it is at 7.5x now) [8]', '\n'],
        ['Rule set [balanced]', '\n'],
        ['yours too? (y/n)', '\n'],
        ['Expected y or n', 'n\n'],
        ['or only the log [log]', 'slack\n'],
        ['slack: url', `${HOOK}\n`],
      ],
    );
    expect(run).toMatchObject({ exitCode: EXIT.ok, stdout: expect.stringContaining('Wrote ') as string });
    for (const secret of [apiKey, apiSecret, HOOK]) expect(run.stdout + run.stderr).not.toContain(secret);
    const text = await readFile(config(), 'utf8');
    expect(text).toContain('amountStep: 0.001 # from you');
    expect(text).toContain('maintenanceMargin: 2.5% # from you');
    expect(text).toContain('confirmed');
    expect(text).toContain('  cancel: never');
    expect(text).toContain('apiSecret: { file: desk-1.secret }');
    for (const [name, value] of [
      ['desk-1.key', apiKey],
      ['desk-1.secret', apiSecret],
      ['slack-url', HOOK],
    ] as const) {
      expect(text).not.toContain(value);
      expect(await readFile(path.join(folder, name), 'utf8')).toBe(`${value}\n`);
      expect((await stat(path.join(folder, name))).mode & 0o777).toBe(0o600);
    }
    const checked = await runCommandLine(['check', config()]);
    expect(checked.exitCode).toBe(EXIT.ok);
    expect(checked.stdout).toContain('1 warning\n');
  });

  test('echoes neither a secret pasted ahead of its question, nor one recalled from the history', async () => {
    const { apiKey, apiSecret } = keysOf(0);
    const run = await runAtTerminal(
      ['init', '--out', config(), '--leverage', '10', '--channel', 'log'],
      [
        ['Address of the exchange', `${exchange.baseUrl}\ndesk-1\n${apiKey}\n${apiSecret}\n`],
        // The up arrow recalls the previous line, in an editor that keeps a history.
        ['yes, correct or later', '\u001b[A\n'],
        ['Rule set', '\u001b[A\u001b[Ax\u007f\n'],
        ['yours too?', 'y\n'],
      ],
    );
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stderr).toContain('Name of the account, for you to choose [desk-1]: desk-1\n');
    for (const secret of [apiKey, apiSecret]) expect(run.stderr).not.toContain(secret);
  });

  test('a key with a blank, or one that the exchange refuses, does not cost the other answers', async () => {
    const { apiKey, apiSecret } = keysOf(0);
    const run = await runAtTerminal(
      [
        'init',
        '--out',
        config(),
        '--leverage',
        '10',
        '--rule-set',
        'balanced',
        '--cancel',
        'never',
        '--channel',
        'log',
      ],
      [
        ['Address of the exchange', `${exchange.baseUrl}\n`],
        ['Name of the account', 'desk-1\n'],
        ['API key', 'two words\n'],
        ['Expected visible ASCII', `${apiKey}\n`],
        ['API secret', `${apiSecret}-mistyped\n`],
        ['does not take this key and secret', `${apiKey}\n`],
        ['API secret', `${apiSecret}\n`],
        ['yes, correct or later', 'yes\n'],
      ],
    );
    expect(run).toMatchObject({ exitCode: EXIT.ok, stdout: expect.stringContaining('Wrote ') as string });
    expect((await readFile(path.join(folder, 'desk-1.secret'), 'utf8')).trim()).toBe(apiSecret);
    expect(run.stderr).not.toContain(apiSecret);
  });

  test('shows a credit line with its debt and LTV, and adds its rules', async () => {
    const { id } = keysOf(4);
    const loan = {
      asset: 'USDT',
      amount: decimal('300'),
      collateralAsset: 'BTC',
      collateralAmount: decimal('0.01'),
    };
    exchange.exchange.change((model) => {
      model.deposit(id, { ticker: 'BTC', amount: decimal('1') });
      expect(model.openLoan(id, loan).ok).toBe(true);
    });
    const { stdout, exitCode } = await runCommandLine(['init', ...(await optionsFor(4))]);
    expect(exitCode).toBe(EXIT.ok);
    expect(stdout).toMatch(/^Credit line: 300 USDT, LTV 50.0 %, margin call at 75.0 %$/m);
    expect(await readFile(config(), 'utf8')).toMatch(/- credit-line\b|, credit-line/);
  });

  test('asks only for what the options leave open', async () => {
    const run = await runAtTerminal(
      ['init', ...(await optionsFor(0)), '--json'],
      [
        ['yes, correct or later', 'y\n'],
        ['Rule set', 'last-resort\n'],
        ['yours too?', 'y\n'],
        ['or only the log', '\n'],
      ],
    );
    expect(run.exitCode).toBe(EXIT.ok);
    expect(JSON.parse(run.stdout)).toMatchObject({
      marketsConfirmed: true,
      ruleSet: { name: 'last-resort' },
      cancel: 'always',
      channel: null,
    });
    expect(run.stderr).not.toContain('Address of the exchange');
  });

  test('writes nothing when Ctrl-C, Ctrl-D or a signal ends it', async () => {
    for (const [typed, exitCode] of [
      ['\u0003', EXIT.interrupted],
      ['\u0004', EXIT.failed],
    ] as const) {
      const run = await runAtTerminal(
        ['init', '--out', config(), '--exchange', exchange.baseUrl, '--account', 'a'],
        [['API key', typed]],
      );
      expect(run).toMatchObject({ exitCode, stdout: '' });
    }
    const controller = new AbortController();
    const stopped = runAtTerminal(['init', '--out', config()], [['no such question', '']], {
      signal: controller.signal,
    });
    setImmediate(() => controller.abort(ctrlC()));
    expect((await stopped).exitCode).toBe(EXIT.interrupted);
    expect(await readdir(folder)).toEqual([]);
  });

  test('does not ask for a secret whose file exists', async () => {
    await writeFile(path.join(folder, 'desk-1.key'), 'older');
    const run = await runAtTerminal(
      ['init', '--out', config(), '--exchange', exchange.baseUrl, '--account', 'desk-1'],
      [['API', 'x\n']],
    );
    expect(run.exitCode).toBe(EXIT.failed);
    expect(run.stderr).toContain('is there already');
    expect(await readFile(path.join(folder, 'desk-1.key'), 'utf8')).toBe('older');
  });
});
