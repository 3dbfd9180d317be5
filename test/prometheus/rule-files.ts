import { fileURLToPath } from 'node:url';

export const RULE_FILES = ['recording.yml', 'alerts.yml'].map((name) =>
  fileURLToPath(new URL(`../../config/prometheus/rules/${name}`, import.meta.url)),
);
