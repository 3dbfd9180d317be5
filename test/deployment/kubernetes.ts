import { readdirSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT, read } from './files.ts';

/** The objects of config/kubernetes, parsed as kubectl parses them. */

export const FOLDER = 'config/kubernetes';

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly securityContext: unknown;
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly: boolean;
  }[];
  readonly resources: { readonly requests: object; readonly limits: { readonly memory?: string } };
}

export interface Labels {
  readonly matchLabels: Readonly<Record<string, string>>;
}

export interface Pod {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly serviceAccountName: string;
    readonly automountServiceAccountToken: boolean;
    readonly terminationGracePeriodSeconds: number;
    readonly securityContext: object;
    readonly initContainers?: readonly Container[];
    readonly containers: readonly Container[];
    readonly volumes: readonly {
      readonly name: string;
      readonly configMap?: { readonly name: string };
      readonly emptyDir?: object;
      readonly secret?: { readonly secretName: string; readonly defaultMode: number };
    }[];
  };
}

export interface Workload extends KubernetesObject {
  readonly spec: {
    readonly replicas: number;
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly strategy?: { readonly type: string };
    readonly selector: Labels;
    readonly template: Pod;
  };
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

export function objectsIn(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    return document.toJS() as KubernetesObject;
  });
}

export interface Kustomization {
  readonly namespace?: string;
  readonly resources?: readonly string[];
  readonly configMapGenerator: readonly { readonly name: string; readonly files: readonly string[] }[];
}

export const kustomization = parse(read(`${FOLDER}/kustomization.yaml`)) as Kustomization;

/** Files of objects: all except the kustomization and the daemon's config. */
export const FILES: readonly string[] = readdirSync(new URL(FOLDER, ROOT)).filter(
  (file) => !['kustomization.yaml', 'breakwater.yaml'].includes(file),
);

export const objects = FILES.flatMap((file) => objectsIn(read(`${FOLDER}/${file}`)));

export function objectOf(kind: string, name: string): KubernetesObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined) throw new Error(`${FOLDER} has no ${kind} ${name}`);
  return found;
}

export const daemon = objectOf('StatefulSet', 'breakwater') as Workload;
export const web = objectOf('Deployment', 'breakwater-web') as Workload;

/** Whether a selector matches these labels. */
export function selects(
  wanted: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}
