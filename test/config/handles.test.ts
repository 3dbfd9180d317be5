import { expect, test } from 'vitest';
import { loadHandles } from '../../src/config/handles.ts';
import { FILE, type Given, surroundings } from './support.ts';

const KEY = 'planted-key-of-the-operators-00000000';
const ENV = { KEY, TOKEN: 'planted-token-1234567', SECRET: 'planted-secret' };
const GOOD = `mode: enforce
redis: { url: "redis://127.0.0.1:7000", prefix: own }
web: { port: 9700, controlToken: { env: TOKEN } }
operators:
  # the same for every daemon

  key: { env: KEY }
accounts:
- id: desk-1
  apiSecret: { env: SECRET }
- id: desk-2
`;

function handles(text: string, given: Given = {}) {
  const found = loadHandles(FILE, surroundings(text, { env: ENV, ...given }));
  const { redis, web, operators, accountIds, secrets } = found ?? expect.fail('the file was not read');
  return {
    redis: redis && `${redis.url.reveal()} ${redis.prefix}`,
    web: web && `${web.port} ${web.controlToken?.reveal()}`,
    key: operators?.key?.reveal(),
    accountIds,
    secrets,
  };
}

const ALL = {
  redis: 'redis://127.0.0.1:7000 own',
  web: '9700 planted-token-1234567',
  key: KEY,
  accountIds: ['desk-1', 'desk-2'],
};

test.each([
  ['a wrong value', GOOD.replace('enforce', 'enforse')],
  ['an unknown key', `${GOOD}rool: []\n`],
  ['a wrong type of another section', `${GOOD}rules: 7\n`],
  ['a tab, so that it is no YAML', `${GOOD}rules:\n\t- id: x\n`],
  ['a bracket that is never closed', `${GOOD}channels: { ops: { type: slack\n`],
  ['a quote that is never closed before the sections', `rules: "never\n${GOOD}`],
  ['lines that end with CR LF', `${GOOD}rules: [\n`.replaceAll('\n', '\r\n')],
])('the handles are found despite a mistake elsewhere: %s', (_what, text) => {
  expect(handles(text)).toMatchObject(ALL);
  expect(handles(text).secrets).toEqual(expect.arrayContaining(Object.values(ENV)));
});

test.each([
  ['redis', GOOD.replace('prefix: own', 'prefix: 7 7'), { ...ALL, redis: undefined }],
  ['web', GOOD.replace('port: 9700', 'port: none'), { ...ALL, web: undefined }],
  ['operators', GOOD.replace('{ env: KEY }', 'plain'), { ...ALL, key: undefined }],
  ['redis, twice', `${GOOD}redis: { url: "redis://127.0.0.1:7001" }\n`, { ...ALL, redis: undefined }],
])('a section with a mistake is undefined: %s', (_section, text, expected) => {
  expect(handles(`${text}rool: []\n`)).toMatchObject(expected);
});

test('in invalid YAML a missing section does not get its defaults', () => {
  const broken = `${GOOD.replace(/^redis:/m, ' redis:')}rules: [\n`;
  expect(handles(broken)).toMatchObject({ ...ALL, redis: undefined });
  expect(handles(`${GOOD}redis: {}\nrules: [\n`)).toMatchObject({ ...ALL, redis: undefined });
  expect(handles('rules: [')).toEqual({ accountIds: [], secrets: [] });
  expect(handles('just words')).toEqual({ accountIds: [], secrets: [] });
  expect(loadHandles('nowhere.yaml', surroundings(GOOD))).toBeUndefined();
});
