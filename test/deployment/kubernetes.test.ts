import { cp, mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { EVENT_METRICS } from '../../src/telemetry/metrics/event-metrics.ts';
import type { MetricSpec } from '../../src/telemetry/metrics/metric-spec.ts';
import { STATE_METRICS } from '../../src/telemetry/metrics/state-metrics.ts';
import { runCommandLine } from '../support/cli.ts';
import { run, withFolder, writeFiles } from '../support/programs.ts';
import { compose, dockerfile, ROOT, read, serviceOf, words } from './files.ts';
import {
  type Container,
  daemon,
  FILES,
  FOLDER,
  type KubernetesObject,
  type Kustomization,
  kustomization,
  type Labels,
  objectOf,
  objects,
  objectsIn,
  selects,
  type Workload,
  web,
} from './kubernetes.ts';

const WORKLOADS = [daemon, web] as const;
const CONTAINERS = WORKLOADS.flatMap(({ spec }) => [
  ...(spec.template.spec.initContainers ?? []),
  ...spec.template.spec.containers,
]);
const config = parse(read(`${FOLDER}/breakwater.yaml`)) as {
  readonly web: { readonly port?: number; readonly health: { readonly host: string; readonly port: number } };
};
const manifest = JSON.parse(read('package.json')) as { readonly version: string };
const named = (object: KubernetesObject): string => `${object.kind} ${object.metadata.name}`;
const mainOf = ({ spec }: Workload): Container => spec.template.spec.containers[0] ?? expect.fail('none');

/** Location of an object's version in the schema package. */
function moduleOf(apiVersion: string): string {
  return apiVersion.startsWith('monitoring.')
    ? '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
    : `kubernetes-models/${apiVersion}`;
}

/** Schema violations of an object. */
async function problemsOf(object: KubernetesObject): Promise<string | undefined> {
  const models = (await import(moduleOf(object.apiVersion))) as Readonly<
    Record<string, new (data: object) => { validate: () => void }>
  >;
  const Model = models[object.kind];
  if (Model === undefined) return `no kind ${object.kind}`;
  try {
    new Model(object).validate();
    return undefined;
  } catch (error) {
    return `${named(object)}: ${(error as Error).message}`;
  }
}

/** Compiler errors for the objects as literals of the schemas' types: these refuse unknown fields. */
async function unknownFields(all: readonly KubernetesObject[]): Promise<string> {
  return await withFolder(async (folder) => {
    const lines = all.map((object, index) => {
      const type = `import('${moduleOf(object.apiVersion)}').I${object.kind}`;
      return `export const object${index}: ${type} = ${JSON.stringify(object)};`;
    });
    const modules = fileURLToPath(new URL('node_modules', ROOT));
    await symlink(modules, path.join(folder, 'node_modules'));
    const compilerOptions = {
      module: 'nodenext',
      strict: true,
      noEmit: true,
      target: 'es2024',
      types: [],
      skipLibCheck: true,
    };
    await writeFiles(folder, {
      'package.json': '{"type":"module"}',
      'objects.ts': lines.join('\n'),
      'tsconfig.json': JSON.stringify({ compilerOptions, files: ['objects.ts'] }),
    });
    const found = await run(process.execPath, [path.join(modules, 'typescript/bin/tsc'), '-p', folder]);
    return found?.output ?? 'no compiler';
  });
}

describe('every object of config/kubernetes', () => {
  test('is valid by the schemas of Kubernetes and of the Prometheus operator', async () => {
    const found = await Promise.all(objects.map(problemsOf));
    expect(found.filter((problem) => problem !== undefined)).toEqual([]);
    expect(objects.length).toBeGreaterThan(11);
    const wrong = { ...daemon, spec: { ...daemon.spec, replicas: 'two' } };
    expect(await problemsOf(wrong)).toContain('replicas must be integer');
  });

  test('has no field unknown to the schemas', async () => {
    expect(await unknownFields(objects)).toBe('');
    const misspelt = { ...daemon, spec: { ...daemon.spec, replica: 2 } };
    expect(await unknownFields([misspelt])).toMatch(/'"?replica"?' does not exist/);
  });

  test('has a unique name, and no namespace but the kustomization’s', () => {
    const names = objects.map(named);
    expect(new Set(names).size).toBe(names.length);
    for (const { metadata } of objects) expect(metadata).not.toHaveProperty('namespace');
    expect(kustomization.namespace).toBe(objectOf('Namespace', 'breakwater').metadata.name);
  });

  test('is in the kustomization', () => {
    const own = kustomization.resources?.filter((name) => !name.startsWith('../'));
    expect([...(own ?? [])].sort()).toEqual([...FILES].sort());
  });
});

describe('the pods', () => {
  test("run the image's commands, with their instance number and existing options", async () => {
    const { stdout: help } = await runCommandLine(['run', '--help']);
    const [main, page] = WORKLOADS.map(mainOf);
    expect(main?.args).toEqual([...words('CMD'), '--instance', '$(INSTANCE)']);
    expect(page?.args.slice(0, 3)).toEqual(words('CMD'));
    const options = [main, page].flatMap((container) =>
      container?.args.filter((word) => word.startsWith('--')),
    );
    expect(options.length).toBeGreaterThan(4);
    for (const option of options) expect(help).toContain(`${option} `);
    const label = "metadata.labels['apps.kubernetes.io/pod-index']";
    expect(main?.env).toEqual([
      { name: 'INSTANCE', valueFrom: { fieldRef: { fieldPath: label } } },
      { name: 'STATE_DIRECTORY', value: serviceOf('breakwater').environment?.['STATE_DIRECTORY'] },
    ]);
  });

  test("have distinct instance numbers, none of them doctor's", () => {
    const page = mainOf(web).args;
    const numbers = [
      ...Array.from({ length: daemon.spec.replicas }, (_, ordinal) => ordinal),
      Number(page[page.indexOf('--instance') + 1]),
    ];
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(Math.max(...numbers)).toBeLessThan(9);
    // During an update it would otherwise run beside the pod that it replaces.
    expect([web.spec.replicas, web.spec.strategy]).toEqual([1, { type: 'Recreate' }]);
    expect(daemon.spec.podManagementPolicy).toBe('Parallel');
  });

  test('run this version’s image', () => {
    for (const { image } of CONTAINERS) expect(image).toBe(`registry.example/breakwater:${manifest.version}`);
  });

  test('listen where config, image and Compose say, and their probes use the separate listener', () => {
    const { port: webPort = 9642, health } = config.web;
    expect(dockerfile().last).toContain(`EXPOSE ${webPort}`);
    const asked = serviceOf('breakwater').environment?.['BREAKWATER_HEALTH_URL'] ?? '';
    for (const workload of WORKLOADS) {
      const { ports, livenessProbe, startupProbe, readinessProbe } = mainOf(workload);
      expect(ports).toEqual([
        { name: 'web', containerPort: webPort },
        { name: 'health', containerPort: health.port },
      ]);
      for (const probe of [livenessProbe, startupProbe]) {
        expect(probe?.httpGet).toEqual({ path: new URL(asked).pathname, port: 'health' });
      }
      expect(readinessProbe?.httpGet.port).toBe('health');
    }
    expect(String(health.port)).toBe(new URL(asked).port);
    expect(health.host).toBe('0.0.0.0');
    expect(WORKLOADS.map((workload) => mainOf(workload).readinessProbe?.httpGet.path)).toEqual([
      '/readyz',
      '/healthz',
    ]);
  });

  test('read config and secrets where image and config have them, and write only their state', () => {
    const file = words('CMD').at(-1) ?? '';
    const made = dockerfile().last.join(' ');
    for (const { spec } of WORKLOADS) {
      const { volumes } = spec.template.spec;
      const read = volumes.filter(({ emptyDir }) => emptyDir === undefined);
      expect(read.map(({ configMap, secret }) => configMap?.name ?? secret?.secretName)).toEqual([
        kustomization.configMapGenerator[0]?.name,
        'breakwater-secrets',
      ]);
      // 0400; fsGroup adds the group, but not everybody.
      expect(volumes[1]?.secret?.defaultMode).toBe(0o400);
    }
    for (const { volumeMounts } of CONTAINERS) {
      const [mounted, secrets, ...written] = volumeMounts;
      expect([mounted, secrets].map((mount) => [mount?.name, mount?.readOnly])).toEqual([
        ['config', true],
        ['secrets', true],
      ]);
      for (const { name, mountPath } of written) {
        expect([name, mountPath]).toEqual(['state', mainOf(daemon).env?.[1]?.value]);
        expect(made).toContain(` ${mountPath} `);
      }
      expect(mounted?.mountPath).toBe(path.dirname(file));
      expect(made).toContain(` ${secrets?.mountPath} `);
      const asked = [...read(`${FOLDER}/breakwater.yaml`).matchAll(/\{ file: (\S+) \}/g)];
      expect(new Set(asked.map(([, place = '']) => path.dirname(place)))).toEqual(
        new Set([secrets?.mountPath]),
      );
    }
    expect(mainOf(daemon).volumeMounts).toHaveLength(3);
    expect(kustomization.configMapGenerator[0]?.files).toEqual([path.basename(file)]);
    const check = daemon.spec.template.spec.initContainers?.[0];
    expect(check?.args).toEqual(['check', file]);
  });

  test('have the rights of the strictest profile, and the grace period of Compose', () => {
    const grace = Number(/^(\d+)s$/.exec(composeGrace())?.[1]);
    for (const { spec } of WORKLOADS) {
      const { securityContext, terminationGracePeriodSeconds, automountServiceAccountToken } =
        spec.template.spec;
      expect(securityContext).toEqual({
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        fsGroup: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(terminationGracePeriodSeconds).toBe(grace);
      expect(automountServiceAccountToken).toBe(false);
    }
    for (const { securityContext, resources } of CONTAINERS) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(resources.limits.memory).toMatch(/^\d+Mi$/);
    }
    expect(dockerfile().last).toContain('USER node');
  });
});

/** Stop grace period of the service that acts. */
function composeGrace(): string {
  const { breakwater } = compose.services as Readonly<Record<string, { stop_grace_period?: string }>>;
  return breakwater?.stop_grace_period ?? '';
}

describe('access', () => {
  const podLabels = WORKLOADS.map(({ spec }) => spec.template.metadata.labels);
  const services = objects.filter(({ kind }) => kind === 'Service') as readonly (KubernetesObject & {
    readonly spec: {
      readonly selector: Readonly<Record<string, string>>;
      readonly ports: readonly {
        readonly name: string;
        readonly port: number;
        readonly targetPort: string;
      }[];
    };
  })[];

  test('every selector matches its intended pods, and no others', () => {
    for (const [index, { spec }] of WORKLOADS.entries()) {
      expect(podLabels.map((labels) => selects(spec.selector.matchLabels, labels))).toEqual(
        podLabels.map((_, other) => other === index),
      );
    }
    const taken = (selector: Readonly<Record<string, string>>) =>
      podLabels.map((labels) => selects(selector, labels));
    expect(services.map(({ metadata, spec }) => [metadata.name, taken(spec.selector)])).toEqual([
      ['breakwater', [true, false]],
      ['breakwater-web', [false, true]],
    ]);
    expect(daemon.spec.serviceName).toBe('breakwater');
    const budget = objectOf('PodDisruptionBudget', 'breakwater') as KubernetesObject & {
      spec: { selector: Labels };
    };
    expect(taken(budget.spec.selector.matchLabels)).toEqual([true, false]);
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy') as readonly (KubernetesObject & {
      readonly spec: { readonly podSelector: Labels };
    })[];
    expect(
      policies.map(({ metadata, spec }) => [metadata.name, taken(spec.podSelector.matchLabels)]),
    ).toEqual([
      ['breakwater', [true, true]],
      ['breakwater-daemon', [true, false]],
      ['breakwater-web', [false, true]],
    ]);
  });

  test('services and policies name ports that the pods have', () => {
    const ports = mainOf(daemon).ports ?? [];
    for (const { spec } of services) {
      for (const { port, targetPort } of spec.ports) {
        expect(ports).toContainEqual({ name: targetPort, containerPort: port });
      }
    }
    const text = read(`${FOLDER}/network-policies.yaml`);
    const [own, numbers] = [/port: ([a-z]+)/g, /port: (\d+)/g].map((pattern) =>
      [...text.matchAll(pattern)].map(([, port = '']) => port),
    );
    // Only the node reaches the probe listener.
    expect(new Set(own)).toEqual(new Set(['web']));
    // DNS, Redis as named in the config's secret in the docs, and the exchange.
    expect(new Set(numbers)).toEqual(new Set(['53', '6379', '443']));
    expect(read('docs/deployment.md')).toMatch(/rediss:\/\/breakwater:PASSWORD@[\w.]+:6379/);
  });

  test('Prometheus scrapes both services under the job that the alerts use', () => {
    const { spec } = objectOf('ServiceMonitor', 'breakwater') as KubernetesObject & {
      spec: {
        jobLabel: string;
        selector: Labels;
        endpoints: readonly {
          port: string;
          path: string;
          authorization: { credentials: { name: string; key: string } };
          relabelings: readonly { action: string; regex: string }[];
        }[];
      };
    };
    const [endpoint] = spec.endpoints;
    for (const { metadata, spec: service } of services) {
      expect(selects(spec.selector.matchLabels, metadata.labels ?? {})).toBe(true);
      expect(service.ports.map(({ name }) => name)).toContain(endpoint?.port);
      const job = metadata.labels?.[spec.jobLabel];
      expect(read('config/prometheus/rules/alerts.yml')).toContain(`job="${job}"`);
    }
    expect(endpoint?.authorization.credentials).toEqual({ name: 'breakwater-metrics', key: 'read-token' });
  });

  test("target labels of the operator neither hide the daemon's labels nor split what the rules aggregate", () => {
    const { spec } = objectOf('ServiceMonitor', 'breakwater') as KubernetesObject & {
      spec: { endpoints: readonly { relabelings: readonly { action: string; regex: string }[] }[] };
    };
    const dropped = spec.endpoints[0]?.relabelings.flatMap(({ action, regex }) =>
      action === 'labeldrop' ? regex.split('|') : [],
    );
    const added = ['container', 'endpoint', 'instance', 'job', 'namespace', 'pod', 'service'];
    const left = added.filter((label) => dropped?.includes(label) !== true);
    const specs: readonly MetricSpec[] = [...Object.values(EVENT_METRICS), ...Object.values(STATE_METRICS)];
    const ours = specs.flatMap(({ labels }) => labels);
    expect(ours).toContain('endpoint');
    expect(left.filter((label) => ours.includes(label))).toEqual([]);
    // Equal for all targets, or aggregated.
    const rules = read('config/prometheus/rules/recording.yml');
    expect(left.filter((label) => !['job', 'namespace'].includes(label))).toEqual(['instance', 'pod']);
    expect(rules).toContain('without (instance, pod)');
  });
});

describe('the config', () => {
  test('is valid, and warns only of secrets that are missing here', async () => {
    const file = fileURLToPath(new URL(`${FOLDER}/breakwater.yaml`, ROOT));
    const { exitCode, stdout, stderr } = await runCommandLine(['check', file]);
    const warnings = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(': warning: '));
    expect([exitCode, warnings.filter((line) => !line.endsWith('got no such file'))]).toEqual([0, []]);
  });

  test('gets the secrets that docs/deployment.md creates, and asks for no others', () => {
    const page = read('docs/deployment.md').replaceAll('\\\n', '');
    const made = (name: string) =>
      [...(new RegExp(`create secret generic ${name} (.*)`).exec(page)?.[1] ?? '').matchAll(/=(\S+)/g)].map(
        ([, file]) => file,
      );
    const asked = [...read(`${FOLDER}/breakwater.yaml`).matchAll(/\/secrets\/([\w.-]+)/g)].map(
      ([, file]) => file,
    );
    expect(new Set(made('breakwater-secrets'))).toEqual(new Set(asked));
    expect(made('breakwater-metrics')).toEqual(['read-token']);
  });
});

describe('rules and dashboards', () => {
  test('the rules equal those of config/prometheus (else run npm run generate)', () => {
    for (const name of ['recording', 'alerts']) {
      const { spec } = objectOf('PrometheusRule', `breakwater-${name}`) as KubernetesObject & {
        spec: unknown;
      };
      expect(spec).toEqual(parse(read(`config/prometheus/rules/${name}.yml`)));
    }
  });

  test('every dashboard is in a ConfigMap that can be applied', () => {
    const { configMapGenerator } = parse(read('config/grafana/kustomization.yaml')) as Kustomization;
    const files = configMapGenerator.flatMap((map) => map.files);
    expect(files).toEqual(['account', 'operations', 'overview'].map((name) => `dashboards/${name}.json`));
    // `kubectl apply` stores a copy in an annotation, which may have 256 KiB.
    for (const { files: own } of configMapGenerator) {
      expect(own.reduce((sum, file) => sum + read(`config/grafana/${file}`).length, 0)).toBeLessThan(200_000);
    }
    expect(kustomization.resources).toContain('../grafana');
  });
});

describe('kustomize', () => {
  const MISSING = 'kubectl is not installed';

  test('makes objects that the schemas allow, with the config and dashboards of this repository', async ({
    skip,
  }) => {
    const folder = fileURLToPath(new URL(FOLDER, ROOT));
    const built = (await run('kubectl', ['kustomize', folder])) ?? skip(MISSING);
    expect(built).toMatchObject({ code: 0 });
    const all = objectsIn(built.output);
    expect((await Promise.all(all.map(problemsOf))).filter(Boolean)).toEqual([]);
    expect(all.map(named).length).toBe(objects.length + 4);
    const maps = all.filter(({ kind }) => kind === 'ConfigMap');
    const data = Object.assign({}, ...maps.map((map) => map.data)) as Readonly<Record<string, string>>;
    expect(data['breakwater.yaml']).toBe(read(`${FOLDER}/breakwater.yaml`));
    expect(data['overview.json']).toBe(read('config/grafana/dashboards/overview.json'));
    const generated = maps.find(({ metadata }) => metadata.name.startsWith('breakwater-config-'));
    expect(built.output).toContain(`name: ${generated?.metadata.name}\n        name: config`);
  });

  test('accepts the folder of docs/deployment.md', async ({ skip }) => {
    const [, own = ''] =
      /```yaml\n(# kustomization\.yaml\n[\s\S]*?)```/.exec(read('docs/deployment.md')) ?? [];
    await withFolder(async (folder) => {
      await mkdir(path.join(folder, 'mine'));
      await mkdir(path.join(folder, 'breakwater'));
      await cp(fileURLToPath(new URL('config', ROOT)), path.join(folder, 'breakwater/config'), {
        recursive: true,
      });
      await writeFiles(path.join(folder, 'mine'), {
        'kustomization.yaml': own,
        'breakwater.yaml': 'mine: yes\n',
      });
      const built = (await run('kubectl', ['kustomize', path.join(folder, 'mine')])) ?? skip(MISSING);
      expect(built).toMatchObject({ code: 0 });
      expect(built.output).toContain('breakwater.yaml: |\n    mine: yes');
      expect(built.output).toContain(`image: registry.yours/breakwater:${/newTag: (\S+) /.exec(own)?.[1]}`);
      expect(built.output).not.toContain('registry.example/');
    });
  });
});
